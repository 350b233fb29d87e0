/** The bytes of a model: in memory, or in a file that is read piece by piece. */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';

export interface ByteSource {
  readonly length: number;
  /** Fills `target` with the bytes from `offset` on. A file source throws RangeError when it ends too early. */
  readInto(target: Uint8Array, offset: number): void;
}

export function memorySource(bytes: Uint8Array): ByteSource {
  return {
    length: bytes.byteLength,
    readInto(target, offset) {
      target.set(bytes.subarray(offset, offset + target.byteLength));
    },
  };
}

/** Opens a file, and closes it when `use` returns. */
export function withFileSource<Result>(path: string, use: (source: ByteSource) => Result): Result {
  const source = openFileSource(path);
  try {
    return use(source);
  } finally {
    source.close();
  }
}

export function openFileSource(path: string): ByteSource & { close(): void } {
  const file = openSync(path, 'r');
  return {
    length: fstatSync(file).size,
    readInto: (target, offset) => readAll(file, target, offset),
    close: () => closeSync(file),
  };
}

/** One read() returns at most 2 GiB minus a page. */
const MAX_READ_BYTES = 1 << 30;

function readAll(file: number, target: Uint8Array, offset: number): void {
  for (let done = 0; done < target.byteLength; ) {
    const wanted = Math.min(target.byteLength - done, MAX_READ_BYTES);
    const got = readSync(file, target, done, wanted, offset + done);
    if (got === 0)
      throw new RangeError(
        `The file ends at byte ${offset + done}, ${target.byteLength - done} bytes too early.`,
      );
    done += got;
  }
}

export function read(source: ByteSource, offset: number, length: number): Uint8Array {
  const bytes = Buffer.allocUnsafeSlow(length);
  source.readInto(bytes, offset);
  return bytes;
}

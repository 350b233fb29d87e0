/**
 * Reads the pictures that jobs begin at, a few at a time: a file of some megabytes can take hundreds when it is decoded. Bytes are reserved
 * before a file is fetched, and before it is decoded. Tenants take turns, and one tenant gets no more once it holds half of a limit.
 */
import { LehrError, type PriorityClass } from '@lehr/shared';
import { MemorySupply, type SlotRequest, Slots } from '../audio/slots.ts';
import { EditWorker } from './edit-worker.ts';
import { inspectPicture, type PictureField, type PictureInfo } from './picture-input.ts';

export interface PictureReaderOptions {
  /** The largest file, bytes. */
  readonly fileBytes: number;
  /** For all files that are fetched or wait for their decoding, bytes. */
  readonly filesBytes: number;
  /** For all pictures that are decoded at the same time, bytes. A larger one is decoded alone. */
  readonly decodedBytes: number;
}

export interface PictureToRead<Result> {
  readonly field: PictureField;
  readonly fetch: () => Promise<Uint8Array>;
  /** Makes of the file what is wanted of it. The memory of one decoding is reserved for it, and `moreBytes`. */
  readonly decode: (file: Uint8Array, info: PictureInfo) => Promise<Result>;
  readonly moreBytes?: number | undefined;
  /** Owners take turns, within each class. */
  readonly owner: string;
  readonly priority?: PriorityClass;
  readonly signal: AbortSignal;
}

/** Half of the threads of libuv, which also encode results and resolve names. */
const DECODINGS = 2;

export class PictureReader {
  /** Shared by all edits; its thread starts with the first one. */
  readonly work = new EditWorker();
  readonly #fileBytes: number;
  readonly #files: Slots;
  readonly #fileMemory: MemorySupply;
  readonly #decodings: Slots;
  readonly #decodeMemory: MemorySupply;

  constructor({ fileBytes, filesBytes, decodedBytes: bytes }: PictureReaderOptions) {
    this.#fileBytes = fileBytes;
    this.#fileMemory = new MemorySupply(filesBytes);
    this.#files = new Slots(Number.MAX_SAFE_INTEGER, this.#fileMemory);
    this.#decodeMemory = new MemorySupply(bytes);
    this.#decodings = new Slots(DECODINGS, this.#decodeMemory);
  }

  /** What `decode` gives. Rejects as it, `fetch` and inspectPicture do, and with the reason of the signal when it aborts before a turn. */
  read<Result>({
    field,
    fetch,
    decode,
    moreBytes = 0,
    priority = 'interactive',
    signal,
    ...of
  }: PictureToRead<Result>): Promise<Result> {
    const owner = `${of.owner} ${priority}`;
    const file = { owner, size: this.#fileBytes, priority };
    return this.#within(this.#files, this.#fileMemory, file, signal, async () => {
      const bytes = await fetch().catch((error: unknown) => Promise.reject(ofField(error, field)));
      const info = await inspectPicture(bytes, field);
      const decoded = { owner, size: info.decodedBytes + moreBytes, priority };
      return this.#within(this.#decodings, this.#decodeMemory, decoded, signal, () => decode(bytes, info));
    });
  }

  #within<Result>(
    slots: Slots,
    memory: MemorySupply,
    request: SlotRequest,
    signal: AbortSignal,
    task: () => Promise<Result>,
  ): Promise<Result> {
    const freed = async (): Promise<Result> => {
      try {
        return await task();
      } finally {
        memory.give(request);
      }
    };
    return slots.run(freed, signal, request);
  }
}

/** What is wrong with a file that was asked for, with the field that names it: a job has several. */
function ofField(error: unknown, field: PictureField): unknown {
  if (!(error instanceof LehrError) || !CALLERS_FAULTS.includes(error.code)) return error;
  const problems = [{ pointer: `/input/${field}`, detail: error.message }];
  return new LehrError(error.code, `/input/${field}: ${error.message}`, { problems, cause: error });
}

const CALLERS_FAULTS: readonly string[] = ['invalid-input', 'too-large'];

/** A dump in parts: an object store takes each whole or not at all, and a damaged one is found before anything is restored. */
import { createHash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { LehrError } from '@lehr/shared';
import { keyOf, type Manifest } from './manifest.ts';
import type { BackupPlace } from './place.ts';

const PART_BYTES = 16 * 1024 * 1024;

type Parts = Pick<Manifest, 'bytes' | 'sha256' | 'parts'>;

/** `onDone` gets the bytes that are stored, and all of them. */
export async function storeParts(
  place: BackupPlace,
  id: string,
  file: string,
  signal: AbortSignal,
  onDone: (done: number, total: number) => void,
): Promise<Parts> {
  const handle = await open(file);
  try {
    const { size } = await handle.stat();
    const whole = createHash('sha256');
    const parts: Parts['parts'] = [];
    for (let start = 0; start < size; start += PART_BYTES) {
      const body = await slice(handle, start, Math.min(PART_BYTES, size - start));
      whole.update(body);
      const name = `part-${String(parts.length).padStart(5, '0')}`;
      const options = { contentType: 'application/octet-stream', signal };
      const { sha256 } = await place.store.put(keyOf(place, id, name), body, options);
      parts.push({ name, bytes: body.length, sha256 });
      onDone(start + body.length, size);
    }
    return { bytes: size, sha256: whole.digest('hex'), parts };
  } finally {
    await handle.close();
  }
}

async function slice(handle: FileHandle, start: number, bytes: number): Promise<Buffer> {
  const body = Buffer.alloc(bytes);
  let read = 0;
  while (read < bytes) {
    const { bytesRead } = await handle.read(body, read, bytes - read, start + read);
    if (bytesRead === 0) throw new LehrError('conflict', 'the dump became shorter while it was read');
    read += bytesRead;
  }
  return body;
}

/** Writes the dump to `file`. Throws `conflict` when a part is missing, or differs from the manifest. */
export async function fetchParts(
  place: BackupPlace,
  manifest: Manifest,
  file: string,
  signal: AbortSignal,
  onDone: (done: number, total: number) => void,
): Promise<void> {
  const { id, bytes, sha256, parts } = manifest;
  const handle = await open(file, 'wx', 0o600);
  const whole = createHash('sha256');
  let done = 0;
  try {
    for (const part of parts) {
      signal.throwIfAborted();
      const object = await place.store.get(keyOf(place, id, part.name));
      if (!object) throw damaged(id, `${part.name} is missing`);
      const hash = createHash('sha256');
      let length = 0;
      for await (const chunk of object.body) {
        length += chunk.length;
        if (length > part.bytes) throw damaged(id, `${part.name} is longer than ${part.bytes} bytes`);
        hash.update(chunk);
        whole.update(chunk);
        await handle.writeFile(chunk);
      }
      if (length !== part.bytes || hash.digest('hex') !== part.sha256) {
        throw damaged(id, `the checksum of ${part.name} differs`);
      }
      done += length;
      onDone(done, bytes);
    }
  } finally {
    await handle.close();
  }
  if (done !== bytes || whole.digest('hex') !== sha256) throw damaged(id, 'its checksum differs');
}

const damaged = (id: string, how: string): LehrError =>
  new LehrError('conflict', `backup ${id} is damaged: ${how}. Nothing was restored; use another backup.`);

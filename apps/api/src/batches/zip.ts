/**
 * The answers of a batch as one zip: `results.jsonl`, `errors.jsonl` when something failed, and every output as a file named after its line.
 * It is written while it is read: one part of the batch and one chunk of one output are in memory, besides the names (about 150 bytes a file).
 */

import type { JobId } from '@lehr/shared';
import { type ObjectKey, toObjectKey } from '@lehr/shared';
import { type JobOutput, parseStoredRecord } from '@lehr/shared/records';
import { makeZip } from 'client-zip';
import { type AnswerParts, answersOf } from './answers.ts';
import type { BatchRecord } from './batch-store.ts';
import { customIdOf, type LineResult } from './slices.ts';

type Reader = ReadableStreamDefaultReader<Uint8Array>;

interface Entry {
  readonly name: string;
  readonly input: AsyncIterable<string | Uint8Array> | string;
  readonly lastModified: Date;
}

interface Now {
  /** The output that is read now. */
  reader?: Reader;
  files: number;
}

/** Rejects with `gone` when the answers have been deleted. */
export async function openZip(parts: AnswerParts, batch: BatchRecord): Promise<ReadableStream<Uint8Array>> {
  if (batch.slices > 0) await parts.batchReads.part(batch, 0);
  return ReadableStream.from(zipOf(parts, batch));
}

async function* zipOf(parts: AnswerParts, batch: BatchRecord): AsyncGenerator<Uint8Array> {
  const now: Now = { files: 0 };
  const zip = makeZip(entriesOf(parts, batch, now)).getReader();
  try {
    let last: Uint8Array | undefined;
    for (;;) {
      const { done, value } = await zip.read();
      if (done) break;
      if (last) yield last;
      last = value;
    }
    if (last) yield* endOf(last, now.files);
  } finally {
    // A reader that hangs up leaves an output open.
    await zip.cancel().catch(() => {});
    await now.reader?.cancel();
  }
}

async function* entriesOf(parts: AnswerParts, batch: BatchRecord, now: Now): AsyncGenerator<Entry> {
  const lastModified = new Date(batch.ended_at ?? batch.created_at);
  yield { name: 'results.jsonl', input: answersOf(parts, batch, 'output'), lastModified };
  if (batch.failed > 0) yield { name: 'errors.jsonl', input: answersOf(parts, batch, 'error'), lastModified };
  now.files += batch.failed > 0 ? 2 : 1;
  const missing: string[] = [];
  for (let slice = 0; slice < batch.slices; slice += 1) {
    for (const result of await parts.batchReads.part(batch, slice)) {
      for (const { name, key } of outputsOf(result)) {
        const object = await parts.store.get(key);
        now.reader = object?.body.getReader();
        if (now.reader) now.files += 1;
        if (now.reader) yield { name, input: chunksOf(now.reader), lastModified };
        else missing.push(`${name}\n`);
      }
    }
  }
  // Outputs are kept for a time from their own end, which may be long before that of the batch.
  if (missing.length === 0) return;
  now.files += 1;
  yield { name: 'missing.txt', input: missing.join(''), lastModified };
}

async function* chunksOf(reader: Reader): AsyncGenerator<Uint8Array> {
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    yield value;
  }
}

interface Output {
  readonly name: string;
  readonly key: ObjectKey;
}

function outputsOf({ line, custom_id, record }: LineResult): Output[] {
  if (record?.state !== 'succeeded') return [];
  const parsed = parseStoredRecord(record.id as JobId, record);
  const output = parsed && 'output' in parsed ? parsed.output : undefined;
  const stem = stemOf(line, custom_id);
  return keysOf(output).map(({ suffix, key }) => ({
    name: `${stem}${suffix}${/\.[a-z\d]{1,8}$/.exec(key)?.[0] ?? ''}`,
    key: toObjectKey(key),
  }));
}

/** Different for each line, and safe as the name of a file everywhere: what the caller has named begins with the number of its line. */
const stemOf = (line: number, customId: string): string =>
  customId === customIdOf(line)
    ? customId
    : `${line + 1}-${customId.replace(/[^\w.-]+/g, '_').slice(0, 100)}`;

function keysOf(output: JobOutput | undefined): { readonly suffix: string; readonly key: string }[] {
  if (!output) return [];
  const { images, transcript, text } = output;
  const pictures = images.flatMap(({ key, latent }, i) => {
    const suffix = i === 0 ? '' : `-${i + 1}`;
    return [{ suffix, key }, ...(latent === undefined ? [] : [{ suffix: `${suffix}-latent`, key: latent }])];
  });
  const texts = [transcript?.key, text?.key].filter((key) => key !== undefined);
  return [...pictures, ...texts.map((key) => ({ suffix: '', key }))];
}

const MAX_FILES_OF_ZIP = 0xffff;
const UNKNOWN = 0xffffffff;

/**
 * The last record, which client-zip writes in one chunk. It writes the ZIP64 record only of a zip of 4 GB, but one with more than 65,535
 * files needs it too: unzip calls it damaged otherwise.
 */
function* endOf(last: Uint8Array, files: number): Generator<Uint8Array> {
  const end = new DataView(last.buffer, last.byteOffset, last.byteLength);
  const [bytes, at] = [end.getUint32(12, true), end.getUint32(16, true)];
  if (files >= MAX_FILES_OF_ZIP && at !== UNKNOWN) {
    const more = new DataView(new ArrayBuffer(76));
    more.setUint32(0, 0x06064b50, true);
    more.setBigUint64(4, 44n, true);
    // Version 4.5, which made it and which is needed.
    more.setUint32(12, 0x002d002d, true);
    more.setBigUint64(24, BigInt(files), true);
    more.setBigUint64(32, BigInt(files), true);
    more.setBigUint64(40, BigInt(bytes), true);
    more.setBigUint64(48, BigInt(at), true);
    // Where this record is.
    more.setUint32(56, 0x07064b50, true);
    more.setBigUint64(64, BigInt(at) + BigInt(bytes), true);
    more.setUint32(72, 1, true);
    yield new Uint8Array(more.buffer);
  }
  yield last;
}

/** The result of a text job for dialects that answer with it. */
import {
  LehrError,
  MAX_SHOWN_RESULT_BYTES,
  type StoredTextOutput,
  type StoredTextResult,
  StoredTextResultSchema,
  type TextOutput,
  toObjectKey,
} from '@lehr/shared';
import type { ObjectStore, StoredObject } from '@lehr/shared/objects';
import type { JobRecord } from '@lehr/shared/records';

const FLOAT_BYTES = 4;

export type TextResult = StoredTextResult & { readonly tokens: number };

/** A result whose JSON is more than MAX_SHOWN_RESULT_BYTES. */
interface LargeResult {
  readonly key: string;
  readonly tokens: number;
}

/** Throws `gone` when a stored result has been deleted. */
export async function textResultOf(
  store: ObjectStore,
  record: Extract<JobRecord, { state: 'succeeded' }>,
): Promise<{ readonly small: TextResult } | { readonly large: LargeResult }> {
  const { text } = record.output;
  if (!text) throw new Error(`Job ${record.id} succeeded without a text result. This is a bug in Lehr.`);
  const { tokens, key, result = {} } = text;
  if (key === undefined) return { small: { ...result, tokens } };
  const object = await storedResult(store, key);
  if (object.bytes > MAX_SHOWN_RESULT_BYTES) {
    await object.body.cancel();
    return { large: { key, tokens } };
  }
  const json = await new Response(object.body).json();
  return { small: { ...StoredTextResultSchema.parse(json), tokens } };
}

/** JSON of a StoredTextResult, in UTF-8. Throws `gone` when it has been deleted. */
export async function readLargeResult(
  store: ObjectStore,
  { key }: LargeResult,
): Promise<Uint8Array<ArrayBuffer>> {
  const { body } = await storedResult(store, key);
  return new Uint8Array(await new Response(body).arrayBuffer());
}

async function storedResult(store: ObjectStore, key: string): Promise<StoredObject> {
  const object = await store.get(toObjectKey(key));
  if (!object) throw new LehrError('gone', 'The result has been deleted.');
  return object;
}

/** The embeddings of a result, as numbers or as base64 of 32-bit floats, little-endian. */
export function embeddingsIn(
  { embeddings = '', dimensions = 1 }: StoredTextResult,
  format: 'float' | 'base64',
): (number[] | string)[] {
  if (format === 'float') return vectorsOf({ embeddings, dimensions });
  const bytes = Buffer.from(embeddings, 'base64');
  const size = dimensions * FLOAT_BYTES;
  return Array.from({ length: bytes.byteLength / size }, (_, i) =>
    bytes.subarray(i * size, (i + 1) * size).toString('base64'),
  );
}

/** Without `result` only the counts are shown. */
export function presentText({ key: _, result, ...counts }: StoredTextOutput): TextOutput {
  const { embeddings, dimensions, ...lists } = result ?? {};
  if (embeddings === undefined || dimensions === undefined) return { ...lists, ...counts };
  return { embeddings: vectorsOf({ embeddings, dimensions }), dimensions, ...counts };
}

/** The embeddings of a stored result, each of `dimensions` numbers. */
function vectorsOf({
  embeddings,
  dimensions,
}: Required<Pick<StoredTextResult, 'embeddings' | 'dimensions'>>): number[][] {
  const bytes = Buffer.from(embeddings, 'base64');
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Array.from({ length: bytes.byteLength / FLOAT_BYTES / dimensions }, (_, text) =>
    Array.from({ length: dimensions }, (_, i) =>
      view.getFloat32((text * dimensions + i) * FLOAT_BYTES, true),
    ),
  );
}

/** The result of a text job for dialects that answer with it. */
import { LehrError, type StoredTextResult, StoredTextResultSchema, toObjectKey } from '@lehr/shared';
import type { ObjectStore } from '@lehr/shared/objects';
import type { JobRecord } from '@lehr/shared/records';
import { vectorsOf } from './present-text.ts';

const FLOAT_BYTES = 4;

export type TextResult = StoredTextResult & { readonly tokens: number };

/** Throws `gone` when a large result has been deleted. */
export async function textResultOf(
  store: ObjectStore,
  record: Extract<JobRecord, { state: 'succeeded' }>,
): Promise<TextResult> {
  const { text } = record.output;
  if (!text) throw new Error(`Job ${record.id} succeeded without a text result. This is a bug in Lehr.`);
  const { tokens, key, result = {} } = text;
  if (key === undefined) return { ...result, tokens };
  const object = await store.get(toObjectKey(key));
  if (!object) throw new LehrError('gone', 'The result has been deleted.');
  return { ...StoredTextResultSchema.parse(await new Response(object.body).json()), tokens };
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

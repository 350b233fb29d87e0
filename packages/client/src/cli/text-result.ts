/** The embeddings of a job. A large result is a link in the job, to embeddings in base64 of 32-bit floats. */
import type { Job } from '../index.ts';

const FLOAT_BYTES = 4;

/** Throws when the result is no longer stored. */
export async function* embeddingsOf({ output }: Pick<Job, 'output'>): AsyncGenerator<readonly number[]> {
  if (output?.result_url === undefined) {
    yield* output?.embeddings ?? [];
    return;
  }
  const response = await fetch(output.result_url);
  if (!response.ok) throw new Error(`The result could not be read: its link answered ${response.status}.`);
  const { embeddings, dimensions } = (await response.json()) as { embeddings: string; dimensions: number };
  const bytes = Buffer.from(embeddings, 'base64');
  for (let at = 0; at < bytes.byteLength; at += dimensions * FLOAT_BYTES) {
    yield Array.from({ length: dimensions }, (_, i) => bytes.readFloatLE(at + i * FLOAT_BYTES));
  }
}

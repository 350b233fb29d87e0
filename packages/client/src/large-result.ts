/** Results of text jobs that are too large to be shown in the job: it has a link to them. */
import { LehrError } from './lehr-error.ts';
import type { JobOutputs } from './wire.ts';

const FLOAT_BYTES = 4;

/** The JSON behind `result_url`: as in a job, but for the embeddings. */
type StoredResult = Pick<JobOutputs, 'labels' | 'fills' | 'entities' | 'dimensions'> & {
  /** base64 of 32-bit floats, little-endian, one text after the other. */
  readonly embeddings?: string;
};

/** The outputs with the result in the place of its link. Throws LehrError `bad-answer`. */
export function withResult(
  { result_url: _, result_expires_at: __, ...counts }: JobOutputs,
  json: string,
): JobOutputs {
  const { embeddings, dimensions, ...lists } = resultIn(json);
  if (embeddings === undefined || dimensions === undefined) return { ...lists, ...counts };
  return { embeddings: vectorsOf(embeddings, dimensions), dimensions, ...counts };
}

function resultIn(json: string): StoredResult {
  try {
    return JSON.parse(json);
  } catch (cause) {
    throw new LehrError('bad-answer', 'The result behind the link of the job is not JSON.', { cause });
  }
}

function vectorsOf(base64: string, dimensions: number): number[][] {
  const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  return Array.from({ length: bytes.byteLength / FLOAT_BYTES / dimensions }, (_, text) =>
    Array.from({ length: dimensions }, (_, i) =>
      view.getFloat32((text * dimensions + i) * FLOAT_BYTES, true),
    ),
  );
}

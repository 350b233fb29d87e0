/** The result of a text job as the API shows it. */
import type { StoredTextOutput, StoredTextResult, TextOutput } from '@lehr/shared';

const FLOAT_BYTES = 4;

/** Without `result` only the counts are shown. */
export function presentText({ key: _, result, ...counts }: StoredTextOutput): TextOutput {
  const { embeddings, dimensions, ...lists } = result ?? {};
  if (embeddings === undefined || dimensions === undefined) return { ...lists, ...counts };
  return { embeddings: vectorsOf({ embeddings, dimensions }), dimensions, ...counts };
}

/** The embeddings of a stored result, each of `dimensions` numbers. */
export function vectorsOf({
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

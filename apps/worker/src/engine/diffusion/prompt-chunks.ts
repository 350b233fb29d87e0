/**
 * A prompt's tokens in chunks, each as long as a text encoder reads at once, by the rules of AUTOMATIC1111's web UI. A pure function.
 *
 * A chunk that is full ends at the last comma of its last 20 tokens, and what follows the comma moves into the next one, so that a phrase is
 * not torn; without such a comma it ends where it is full.
 */

/** Of one prompt. Each adds a run of the text encoder, and keys and values to every attention of the UNet. */
export const MAX_CHUNKS = 8;

export interface TokenizedPart {
  /** Without start and end of text. */
  readonly ids: readonly number[];
  readonly weight: number;
  readonly isBreak: boolean;
}

export interface PromptChunk {
  /** Without start and end of text and padding. */
  readonly ids: readonly number[];
  /** One for each id. */
  readonly weights: readonly number[];
}

interface ChunkRules {
  /** Ids of a chunk, 75 for CLIP. */
  readonly length: number;
  /** The id of a comma; undefined where the vocabulary has none. */
  readonly comma: number | undefined;
}

/** How many tokens after a comma move with it; the web UI's default. */
const MOVED_TOKENS = 20;

/** At least one chunk, which is empty for an empty prompt. */
export function chunkPrompt(
  parts: readonly TokenizedPart[],
  { length, comma }: ChunkRules,
): readonly PromptChunk[] {
  const chunks: PromptChunk[] = [];
  let ids: number[] = [];
  let weights: number[] = [];
  let lastComma = -1;
  /** Ends the chunk after its first `kept` tokens; the others begin the next one. */
  const end = (kept: number): void => {
    chunks.push({ ids: ids.slice(0, kept), weights: weights.slice(0, kept) });
    ids = ids.slice(kept);
    weights = weights.slice(kept);
    lastComma = -1;
  };
  for (const part of parts) {
    if (part.isBreak) {
      end(ids.length);
      continue;
    }
    for (const id of part.ids) {
      const isFull = ids.length === length;
      if (id === comma) lastComma = ids.length;
      else if (isFull && lastComma !== -1 && ids.length - lastComma <= MOVED_TOKENS) end(lastComma + 1);
      if (ids.length === length) end(length);
      ids.push(id);
      weights.push(part.weight);
    }
  }
  if (ids.length > 0 || chunks.length === 0) end(ids.length);
  return chunks;
}

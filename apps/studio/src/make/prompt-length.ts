/** How long a prompt is for the model, before a worker has counted it. */

/** The words, digits and signs that CLIP splits a text into; a rare word is several tokens, so the true number may be larger. */
const PIECES = /'(?:s|t|re|ve|m|ll|d)|\p{L}+|\p{N}|[^\s\p{L}\p{N}]+/giu;

/** Start and end of text. */
const FRAME_TOKENS = 2;

/** About how many tokens the prompt has, start and end of text included. */
export const aboutTokens = (prompt: string): number => (prompt.match(PIECES)?.length ?? 0) + FRAME_TOKENS;

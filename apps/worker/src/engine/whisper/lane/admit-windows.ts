/**
 * Chooses the windows that join a Whisper lane, and those that start to write together. Pure functions.
 *
 * Decoding gains most from many rows and encoding gains nothing from waiting, so windows are encoded in the order of their
 * arrival as soon as there is room, except while encoding has delayed the decoder too much already.
 */

export interface WindowLaneState<Window> {
  /** Not encoded yet, oldest first. */
  readonly waiting: readonly Window[];
  /** Encoded windows that have not ended; each has or will have a row of the decoder. */
  readonly inLane: readonly Window[];
  readonly decoderRowCap: number;
  readonly encoderRowCap: number;
  /** Row counts of calls, for providers that tune per shape; empty for any. */
  readonly ladder: readonly number[];
  readonly isDecoding: boolean;
  /** How long encoding has delayed the decoder, less what decoding has made up for. */
  readonly decoderDelayMs: number;
}

/** The most that encoding may delay the decoder at once. */
const MAX_DECODER_DELAY_MS = 2000;
/** In the long run decoding takes this many times the time of encoding. */
const DECODE_SHARE = 3;
/** Prompts of one start call, and their tokens: they limit how long other windows wait, and the memory of the logits. */
const MAX_STARTS = 8;
const MAX_START_TOKENS = 512;

/**
 * The windows to encode now in one call; none when the decoder goes first. A window alone in the lane always fits. A window
 * that does not fit yet blocks those behind it.
 */
export function windowsToEncode<Window extends { readonly maxBatchMates: number }>(
  lane: WindowLaneState<Window>,
): Window[] {
  if (lane.isDecoding && lane.decoderDelayMs >= MAX_DECODER_DELAY_MS) return [];
  const { inLane, decoderRowCap, encoderRowCap } = lane;
  let maxBatchMates = Math.min(...inLane.map((window) => window.maxBatchMates));
  const joining: Window[] = [];
  for (const window of lane.waiting) {
    const windows = inLane.length + joining.length + 1;
    maxBatchMates = Math.min(maxBatchMates, window.maxBatchMates);
    if (windows > 1 && windows > Math.min(decoderRowCap, maxBatchMates)) break;
    if (joining.length === encoderRowCap) break;
    joining.push(window);
  }
  return wholeRung(joining, lane.ladder);
}

/** The windows whose prompts one call reads now: the oldest encoded one and those with a prompt of equal length. */
export function windowsToStart<Window extends { readonly prompt: readonly number[] }>(
  encoded: readonly Window[],
  ladder: readonly number[],
): Window[] {
  const length = encoded[0].prompt.length;
  const most = Math.min(MAX_STARTS, Math.max(1, Math.floor(MAX_START_TOKENS / length)));
  const equal = encoded.filter(({ prompt }) => prompt.length === length);
  return wholeRung(equal.slice(0, most), ladder);
}

/** What is left of `decoderDelayMs` after a decoder call. */
export const delayAfterDecoding = (decoderDelayMs: number, callMs: number): number =>
  Math.max(0, decoderDelayMs - DECODE_SHARE * callMs);

/** The first windows, as many as the highest rung of the ladder that they fill. */
function wholeRung<Window>(windows: readonly Window[], ladder: readonly number[]): Window[] {
  const rung = ladder.findLast((rows) => rows <= windows.length);
  return windows.slice(0, rung ?? windows.length);
}

/** Timed segments from a window's tokens, and where the next window begins (openai/whisper, transcribe.py). */
import type { WindowSegment } from '../protocol/messages.ts';
import { type SpecialTokens, TIMESTAMP_FRAMES, TIMESTAMP_S } from './special-tokens.ts';

export interface WindowReading {
  readonly segments: readonly WindowSegment[];
  /** Mel frames from the start of this window to the start of the next; at least one. */
  readonly advanceFrames: number;
}

export interface ReadingOptions {
  readonly special: SpecialTokens;
  /** Mel frames of the window that hold sound; the rest is padding. */
  readonly contentFrames: number;
  readonly frameSeconds: number;
  /** Whether the decoder wrote timestamps. */
  readonly timestamps: boolean;
  readonly decode: (tokens: readonly number[]) => string;
}

/**
 * Cuts the tokens between the end of one segment and the start of the next. Without such a pair all tokens are one
 * segment. A last segment without an end is left to the next window, which begins where the last complete one ended.
 */
export function readWindow(tokens: readonly number[], options: ReadingOptions): WindowReading {
  const { contentFrames, timestamps, special } = options;
  const isTime = (id: number | undefined): boolean => id !== undefined && id >= special.timestampBegin;
  const cuts = timestamps
    ? tokens.flatMap((id, i) => (i > 0 && isTime(id) && isTime(tokens[i - 1]) ? [i] : []))
    : [];
  if (cuts.length === 0) return { segments: segmentOf(tokens, options), advanceFrames: contentFrames };
  // A single time at the very end means that no speech follows.
  const endsAlone = isTime(tokens.at(-1)) && !isTime(tokens.at(-2));
  const ends = endsAlone ? [...cuts, tokens.length] : cuts;
  const segments = ends.flatMap((end, i) => segmentOf(tokens.slice(i === 0 ? 0 : ends[i - 1], end), options));
  if (endsAlone) return { segments, advanceFrames: contentFrames };
  const spoken = (tokens[ends[ends.length - 1] - 1] - special.timestampBegin) * TIMESTAMP_FRAMES;
  return { segments, advanceFrames: spoken > 0 ? Math.min(spoken, contentFrames) : contentFrames };
}

/** The segment that the newest token ended; undefined when it ended none. */
export function justEnded(tokens: readonly number[], options: ReadingOptions): WindowSegment | undefined {
  const { special, timestamps } = options;
  const isTime = (id: number | undefined): boolean => id !== undefined && id >= special.timestampBegin;
  if (!timestamps || !isTime(tokens.at(-1)) || isTime(tokens.at(-2))) return undefined;
  const start = tokens.findLastIndex((id, i) => i < tokens.length - 1 && isTime(id));
  return segmentOf(tokens.slice(Math.max(start, 0)), options)[0];
}

/** The segment of these tokens, cut to the window's sound; none when it has no text or no length. */
function segmentOf(tokens: readonly number[], options: ReadingOptions): WindowSegment[] {
  const { special, contentFrames, frameSeconds, timestamps, decode } = options;
  const text = decode(tokens);
  if (text.trim() === '') return [];
  const seconds = contentFrames * frameSeconds;
  const { timestampBegin } = special;
  const times = timestamps ? tokens.filter((id) => id >= timestampBegin) : [];
  const begins = times.length > 0 && times[0] === tokens[0];
  const isEnded = times.length > (begins ? 1 : 0);
  // Rounded to hundredths, because 57 * 0.02 is not exactly 1.14.
  const timeOf = (id: number): number => Math.round((id - timestampBegin) * TIMESTAMP_S * 100) / 100;
  const start = begins ? timeOf(times[0]) : 0;
  const end = isEnded ? timeOf(times[times.length - 1]) : seconds;
  // Small models put the last words after the end of the sound; their text is right nevertheless.
  const latestStart = Math.max(0, seconds - TIMESTAMP_S);
  const inside = { start: Math.min(start, latestStart), end: Math.min(end, seconds) };
  return start < end && inside.start < inside.end ? [{ ...inside, text, tokens }] : [];
}

/** What a window's tokens say when, and where the next window begins (openai/whisper, transcribe.py). */
import { type SpecialTokens, TIMESTAMP_FRAMES, TIMESTAMP_S } from './special-tokens.ts';

export interface TimedSegment {
  /** Seconds from the start of the window. */
  readonly start: number;
  readonly end: number;
  readonly text: string;
  /** Timestamps included. */
  readonly tokens: readonly number[];
}

export interface WindowReading {
  readonly segments: readonly TimedSegment[];
  /** Mel frames from this window's start to the next one's; at least one. */
  readonly advanceFrames: number;
}

export interface ReadingOptions {
  readonly special: SpecialTokens;
  /** Mel frames of the window that hold sound; the rest is padding. */
  readonly contentFrames: number;
  readonly frameSeconds: number;
  /** Whether the decoder was asked for times. */
  readonly timestamps: boolean;
  readonly decode: (tokens: readonly number[]) => string;
}

/**
 * Cuts the tokens where an end is followed by a start. Without such a pair all of it is one segment. What was begun and
 * not ended is left for the next window, which begins where the last whole segment ended.
 */
export function readWindow(tokens: readonly number[], options: ReadingOptions): WindowReading {
  const { contentFrames, timestamps, special } = options;
  const isTime = (id: number | undefined): boolean => id !== undefined && id >= special.timestampBegin;
  const cuts = timestamps
    ? tokens.flatMap((id, i) => (i > 0 && isTime(id) && isTime(tokens[i - 1]) ? [i] : []))
    : [];
  if (cuts.length === 0) return { segments: segmentOf(tokens, options), advanceFrames: contentFrames };
  // One time alone at the very end: after it nobody speaks any more.
  const endsAlone = isTime(tokens.at(-1)) && !isTime(tokens.at(-2));
  const ends = endsAlone ? [...cuts, tokens.length] : cuts;
  const segments = ends.flatMap((end, i) => segmentOf(tokens.slice(i === 0 ? 0 : ends[i - 1], end), options));
  if (endsAlone) return { segments, advanceFrames: contentFrames };
  const spoken = (tokens[ends[ends.length - 1] - 1] - special.timestampBegin) * TIMESTAMP_FRAMES;
  return { segments, advanceFrames: spoken > 0 ? Math.min(spoken, contentFrames) : contentFrames };
}

/** The segment that the newest token ended, while the decoder goes on; undefined when it ended none. */
export function justEnded(tokens: readonly number[], options: ReadingOptions): TimedSegment | undefined {
  const { special, timestamps } = options;
  const isTime = (id: number | undefined): boolean => id !== undefined && id >= special.timestampBegin;
  if (!timestamps || !isTime(tokens.at(-1)) || isTime(tokens.at(-2))) return undefined;
  const start = tokens.findLastIndex((id, i) => i < tokens.length - 1 && isTime(id));
  return segmentOf(tokens.slice(Math.max(start, 0)), options)[0];
}

/** The piece inside the window's sound; none when it says nothing or takes no time. */
function segmentOf(tokens: readonly number[], options: ReadingOptions): TimedSegment[] {
  const { special, contentFrames, frameSeconds, timestamps, decode } = options;
  const text = decode(tokens);
  if (text.trim() === '') return [];
  const seconds = contentFrames * frameSeconds;
  const { timestampBegin } = special;
  const times = timestamps ? tokens.filter((id) => id >= timestampBegin) : [];
  const begins = times.length > 0 && times[0] === tokens[0];
  const isEnded = times.length > (begins ? 1 : 0);
  // In whole hundredths: 57 * 0.02 is not quite 1.14.
  const timeOf = (id: number): number => Math.round((id - timestampBegin) * TIMESTAMP_S * 100) / 100;
  const start = begins ? timeOf(times[0]) : 0;
  const end = isEnded ? timeOf(times[times.length - 1]) : seconds;
  // Small models time the last words after the end of the sound; the words are right all the same.
  const latestStart = Math.max(0, seconds - TIMESTAMP_S);
  const inside = { start: Math.min(start, latestStart), end: Math.min(end, seconds) };
  return start < end && inside.start < inside.end ? [{ ...inside, text, tokens }] : [];
}

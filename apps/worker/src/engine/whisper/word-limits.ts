/** Words that the alignment makes too long, because it gives a pause to a word beside it (openai/whisper, timing.py). */
import type { WindowSegment, WindowWord } from '../protocol/messages.ts';

/** A word beside a pause may last this many times the usual duration of a word. */
const MAX_USUAL = 2;
const MAX_USUAL_S = 0.7;
/** A silence of this many usual words before a segment is a pause. */
const PAUSE_USUAL = 4;
/** How far a word may reach beyond its segment; past that the segment's own times are used. */
const SLACK_S = 0.5;
const SENTENCE_ENDS = new Set([...'.。!！?？']);

/** The median duration of the words of a window, in seconds, without words of no duration; at most 0.7. */
export function usualDuration(words: readonly WindowWord[]): number {
  const durations = words.map(({ start, end }) => end - start).filter((duration) => duration !== 0);
  return Math.min(MAX_USUAL_S, median(durations));
}

/** Shortens the marks that end sentences, and the words after them. Punctuation is not yet joined to words. */
export function limitAtSentenceEnds(words: readonly WindowWord[], usualS: number): WindowWord[] {
  const longest = MAX_USUAL * usualS;
  return words.map((each, i) => {
    if (i === 0 || each.end - each.start <= longest) return each;
    if (SENTENCE_ENDS.has(each.word)) return { ...each, end: each.start + longest };
    return SENTENCE_ENDS.has(words[i - 1].word) ? { ...each, start: each.end - longest } : each;
  });
}

/**
 * Shortens the first words of a segment after a pause, and words that reach far beyond the segment. `lastSpeechS`: where the speech
 * before the segment ends, in seconds from the start of the window.
 */
export function limitToSegment(
  words: readonly WindowWord[],
  segment: Pick<WindowSegment, 'start' | 'end'>,
  usualS: number,
  lastSpeechS: number,
): WindowWord[] {
  if (words.length === 0) return [];
  const limited = afterPause(words, usualS, lastSpeechS);
  const [first] = limited;
  if (segment.start < first.end && segment.start - SLACK_S > first.start)
    limited[0] = { ...first, start: Math.max(0, Math.min(first.end - usualS, segment.start)) };
  const last = limited[limited.length - 1];
  if (segment.end > last.start && segment.end + SLACK_S < last.end)
    limited[limited.length - 1] = { ...last, end: Math.max(last.start + usualS, segment.end) };
  return limited;
}

function afterPause(words: readonly WindowWord[], usualS: number, lastSpeechS: number): WindowWord[] {
  const longest = MAX_USUAL * usualS;
  let [first, second] = words as readonly [WindowWord, WindowWord?];
  const isLong =
    first.end - first.start > longest || (second !== undefined && second.end - first.start > 2 * longest);
  if (first.end - lastSpeechS <= PAUSE_USUAL * usualS || !isLong) return [...words];
  if (second && second.end - second.start > longest) {
    const boundary = Math.max(second.end / 2, second.end - longest);
    first = { ...first, end: boundary };
    second = { ...second, start: boundary };
  }
  first = { ...first, start: Math.max(0, first.end - longest) };
  return second ? [first, second, ...words.slice(2)] : [first];
}

function median(values: readonly number[]): number {
  if (values.length === 0) return 0;
  const sorted = [...values].sort((a, b) => a - b);
  const half = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

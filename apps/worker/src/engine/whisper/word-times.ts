/**
 * The time of each word: the decoder reads the finished text again, and the cross-attention of its alignment heads
 * shows which audio belongs to which token (openai/whisper, timing.py).
 */
import type { WindowSegment, WindowWord } from '../protocol/messages.ts';
import { beginnings, mean, standardise } from './alignment.ts';
import type { Decoder } from './decoder.ts';
import type { FloatData } from './row-buffer.ts';
import { TIMESTAMP_FRAMES, TIMESTAMP_S } from './special-tokens.ts';
import type { WhisperTokenizer } from './tokenizer.ts';

/** The decoder heads whose attention follows the words, and the width of the filter that smooths it. */
export interface AlignmentHeads {
  readonly heads: readonly (readonly [layer: number, head: number])[];
  readonly medianFilterWidth: number;
}

interface WordTimer {
  readonly decoder: Decoder;
  readonly tokenizer: WhisperTokenizer;
  readonly alignment: AlignmentHeads | undefined;
}

export interface TextToTime {
  /** Audio features of the window, as the decoder takes them. */
  readonly features: FloatData;
  /** Mel frames of the window that hold sound; the rest is padding. */
  readonly contentFrames: number;
  readonly language: string;
  /** The tokens before the text: start, language, task. */
  readonly prompt: readonly number[];
  readonly segments: readonly WindowSegment[];
}

/** Words in time order and without overlap. Throws what a session throws. */
export async function timeWords(timer: WordTimer, text: TextToTime): Promise<WindowWord[]> {
  return inOrder(limitWords(await alignWords(timer, text), text.segments));
}

/** The words of each segment where the attention shows them, pauses and all. Throws what a session throws. */
export async function alignWords(timer: WordTimer, text: TextToTime): Promise<WindowWord[][]> {
  const { special } = timer.tokenizer;
  const perSegment = text.segments.map(({ tokens }) => tokens.filter((id) => id < special.end));
  const tokens = perSegment.flat();
  const begins = await tokenBeginnings(timer, text, tokens);
  let at = 0;
  return text.segments.map((_, i) =>
    timer.tokenizer.splitWords(perSegment[i], text.language).map(({ word, tokens: own }): WindowWord => {
      const start = begins[at];
      at += own.length;
      return { word, start, end: begins[at] };
    }),
  );
}

/** The words of each segment, with punctuation joined to them and pauses taken from them; `words` has one list per segment. */
export function limitWords(
  words: readonly (readonly WindowWord[])[],
  segments: readonly Pick<WindowSegment, 'start' | 'end'>[],
): WindowWord[] {
  const all = words.flat();
  const usualS = usualDuration(all);
  const limited = limitAtSentenceEnds(all, usualS);
  let at = 0;
  // Where the window begins: the speech of the window before it ends there or earlier.
  let lastSpeechS = 0;
  return segments.flatMap((segment, i) => {
    const own = limited.slice(at, at + words[i].length);
    at += own.length;
    const inside = limitToSegment(joinPunctuation(own), segment, usualS, lastSpeechS);
    lastSpeechS = inside.at(-1)?.end ?? lastSpeechS;
    return inside;
  });
}

/** The second at which each token begins, and one value more: where the last one ends. */
async function tokenBeginnings(
  { decoder, tokenizer, alignment }: WordTimer,
  { features, contentFrames, prompt }: TextToTime,
  tokens: readonly number[],
): Promise<number[]> {
  if (!alignment) throw new Error('This model cannot time words. This is a bug in Lehr.');
  const { end, noTimestamps } = tokenizer.special;
  const read = [...prompt, noTimestamps, ...tokens, end];
  const layers = [...new Set(alignment.heads.map(([layer]) => layer))];
  const attentions = await decoder.attend(read, features, layers);
  // An odd last frame has no position, as in openai-whisper and transformers.
  const positions = Math.max(1, Math.floor(contentFrames / TIMESTAMP_FRAMES));
  const columns = Math.min(positions, decoder.sizes.audioPositions);
  const heads = alignment.heads.flatMap(([layer, head]) => {
    const attention = attentions.find((each) => each.layer === layer);
    if (!attention) return [];
    const length = read.length * decoder.sizes.audioPositions;
    const weights = attention.weights.subarray(head * length, (head + 1) * length);
    return [standardise(weights, read.length, columns, alignment.medianFilterWidth)];
  });
  const { values } = mean(heads);
  // A row shows the attention for the token after it: the row of <|notimestamps|> belongs to the first token of the text.
  const rows = tokens.length + 1;
  const text = values.subarray(prompt.length * columns, (prompt.length + rows) * columns);
  return beginnings({ rows, columns, values: text }).map((position) => position * TIMESTAMP_S);
}

const JOINS_NEXT = new Set([...'"\'“¿([{-']);
const JOINS_LAST = new Set([...'"\'.。,，!！?？:：”)]}、']);

/** Joins punctuation marks with the word they belong to. */
function joinPunctuation(words: readonly WindowWord[]): WindowWord[] {
  const joined: WindowWord[] = [];
  let opening: WindowWord | undefined;
  for (const each of words) {
    const mark = each.word.trim();
    const last = joined.at(-1);
    if (JOINS_LAST.has(mark) && !each.word.startsWith(' ') && last && !opening) {
      joined[joined.length - 1] = { ...last, word: last.word + each.word };
    } else if (JOINS_NEXT.has(mark) && each.word.startsWith(' ')) {
      opening = opening ? { ...opening, word: opening.word + each.word } : each;
    } else {
      joined.push(opening ? { ...each, word: opening.word + each.word.trimStart() } : each);
      opening = undefined;
    }
  }
  return opening ? [...joined, opening] : joined;
}

function inOrder(words: readonly WindowWord[]): WindowWord[] {
  const hundredths = (seconds: number): number => Math.round(seconds * 100) / 100;
  let last = 0;
  return words.flatMap(({ word, start, end }) => {
    const text = word.trim();
    if (text === '') return [];
    const from = hundredths(Math.max(start, last));
    last = hundredths(Math.max(end, from));
    return [{ word: text, start: from, end: last }];
  });
}

/** A word beside a pause may last this many times the usual duration of a word. */
const MAX_USUAL = 2;
const MAX_USUAL_S = 0.7;
/** A silence of this many usual words before a segment is a pause. */
const PAUSE_USUAL = 4;
/** How far a word may reach beyond its segment; past that the segment's own times are used. */
const SLACK_S = 0.5;
const SENTENCE_ENDS = new Set([...'.。!！?？']);

/**
 * Words that the alignment makes too long, because it gives a pause to a word beside it (openai/whisper, timing.py).
 *
 * The median duration of the words of a window, in seconds, without words of no duration; at most 0.7.
 */
function usualDuration(words: readonly WindowWord[]): number {
  const durations = words.map(({ start, end }) => end - start).filter((duration) => duration !== 0);
  return Math.min(MAX_USUAL_S, median(durations));
}

/** Shortens the marks that end sentences, and the words after them. Punctuation is not yet joined to words. */
function limitAtSentenceEnds(words: readonly WindowWord[], usualS: number): WindowWord[] {
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
function limitToSegment(
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

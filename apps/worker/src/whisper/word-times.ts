/**
 * The time of each word: the decoder reads the finished text again, and the cross-attention of its alignment heads
 * shows which audio belongs to which token (openai/whisper, timing.py).
 */
import { beginnings, mean, standardise } from './alignment.ts';
import type { Decoder } from './decoder.ts';
import type { FloatData } from './row-buffer.ts';
import type { WindowSegment } from './segments.ts';
import { TIMESTAMP_FRAMES, TIMESTAMP_S } from './special-tokens.ts';
import type { WhisperTokenizer } from './tokenizer.ts';

/** The decoder heads whose attention follows the words, and the width of the filter that smooths it. */
export interface AlignmentHeads {
  readonly heads: readonly (readonly [layer: number, head: number])[];
  readonly medianFilterWidth: number;
}

export interface WordTimer {
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

export interface WindowWord {
  /** Without the blank before it. */
  readonly word: string;
  /** Seconds from the start of the window. */
  readonly start: number;
  readonly end: number;
}

/** Words in time order and without overlap. Throws what a session throws. */
export async function timeWords(timer: WordTimer, text: TextToTime): Promise<WindowWord[]> {
  const { special } = timer.tokenizer;
  const perSegment = text.segments.map(({ tokens }) => tokens.filter((id) => id < special.end));
  const tokens = perSegment.flat();
  const begins = await tokenBeginnings(timer, text, tokens);
  const words: WindowWord[] = [];
  let at = 0;
  for (const [i, segment] of text.segments.entries()) {
    const split = timer.tokenizer.splitWords(perSegment[i], text.language);
    const timed = split.map(({ word, tokens: own }): WindowWord => {
      const start = begins[at];
      at += own.length;
      return { word, start, end: begins[at] };
    });
    words.push(...insideSegment(joinPunctuation(timed), segment));
  }
  return inOrder(words);
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
  const columns = Math.min(Math.ceil(contentFrames / TIMESTAMP_FRAMES), decoder.sizes.audioPositions);
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
export function joinPunctuation(words: readonly WindowWord[]): WindowWord[] {
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

/** The alignment gives a pause to the first word after it. Such a word may last this many times the median duration. */
const MAX_MEDIANS = 2;
const MAX_MEDIAN_S = 0.7;
/** How far a word may reach beyond its segment; past that the segment's own times are used. */
const SLACK_S = 0.5;

function insideSegment(words: readonly WindowWord[], segment: WindowSegment): WindowWord[] {
  const durations = words.map(({ start, end }) => end - start).filter((duration) => duration > 0);
  const usualS = Math.min(MAX_MEDIAN_S, median(durations));
  return words.map(({ word, start, end }, i) => {
    const isAfterPause = i === 0 || /[.。!！?？]$/.test(words[i - 1].word);
    let from = isAfterPause ? Math.max(start, end - MAX_MEDIANS * usualS) : start;
    let to = end;
    if (from < segment.start - SLACK_S && segment.start < to) from = Math.min(segment.start, to - usualS);
    if (to > segment.end + SLACK_S && segment.end > from) to = Math.max(segment.end, from + usualS);
    return { word, start: from, end: to };
  });
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

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted.length === 0 ? 0 : sorted[Math.floor(sorted.length / 2)];
}

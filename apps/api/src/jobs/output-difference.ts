/** How much the output of a shadow differs from that of its job. Pure. */
import { setImmediate } from 'node:timers/promises';
import { editDistance } from '@lehr/shared';
import type { JobOutput } from '@lehr/shared/records';

/** Takes about two milliseconds. */
const VALUES_AT_ONCE = 1_000_000;
/** Words of a transcript that are compared, from its start: the work grows with their square. */
const MOST_WORDS = 1_000;
/** Of a transcript that is searched for words. */
const MOST_CHARACTERS = 16_000;

/**
 * Mean absolute difference of the values, from 0 to 255; 255 for pictures of different sizes. The largest pictures have 48 million values,
 * so requests are served between the slices.
 */
export async function pixelDifference(a: Uint8Array, b: Uint8Array): Promise<number> {
  if (a.length !== b.length || a.length === 0) return 255;
  let sum = 0;
  for (let start = 0; start < a.length; start += VALUES_AT_ONCE) {
    if (start > 0) await setImmediate();
    sum += sumOfDifferences(a, b, start, Math.min(start + VALUES_AT_ONCE, a.length));
  }
  return sum / a.length;
}

function sumOfDifferences(a: Uint8Array, b: Uint8Array, start: number, end: number): number {
  let sum = 0;
  for (let i = start; i < end; i += 1) sum += Math.abs(a[i] - b[i]);
  return sum;
}

/** Words to insert, remove or replace, as a ratio to those of the first text. Case and punctuation are not compared. */
export function wordDifference(expected: string, actual: string): number {
  const [a, b] = [wordsOf(expected), wordsOf(actual)];
  if (a.length === 0) return b.length === 0 ? 0 : 1;
  return editDistance(a, b) / a.length;
}

function wordsOf(text: string): readonly string[] {
  const words =
    text
      .slice(0, MOST_CHARACTERS)
      .toLowerCase()
      .match(/[\p{L}\p{N}']+/gu) ?? [];
  return words.slice(0, MOST_WORDS);
}

/** Of the transcripts, or of the results of a text task; undefined when there is neither. */
export function textDifference(a: JobOutput, b: JobOutput): number | undefined {
  if (a.transcript && b.transcript) return wordDifference(a.transcript.text, b.transcript.text);
  if (!a.text || !b.text) return undefined;
  // A long result is an object, which is not read.
  if (a.text.result === undefined || b.text.result === undefined) return undefined;
  return JSON.stringify(a.text.result) === JSON.stringify(b.text.result) ? 0 : 1;
}

/** How much the output of a shadow differs from that of its job. Pure. */
import type { JobOutput } from '@lehr/shared/records';

/** Words of a transcript that are compared, from its start: the work grows with their square. */
const MOST_WORDS = 1_000;
/** Of a transcript that is searched for words. */
const MOST_CHARACTERS = 16_000;

/** Mean absolute difference of the values, from 0 to 255; 255 for pictures of different sizes. */
export function pixelDifference(a: Uint8Array, b: Uint8Array): number {
  if (a.length !== b.length || a.length === 0) return 255;
  let sum = 0;
  for (let i = 0; i < a.length; i += 1) sum += Math.abs(a[i] - b[i]);
  return sum / a.length;
}

/** Words to insert, remove or replace, as a ratio to those of the first text. Case and punctuation are not compared. */
export function wordDifference(expected: string, actual: string): number {
  const ids = new Map<string, number>();
  const [a, b] = [wordsOf(expected, ids), wordsOf(actual, ids)];
  if (a.length === 0) return b.length === 0 ? 0 : 1;
  // Numbers in one array: texts, and a new array for each word, keep the event loop several times as long.
  const row = Uint32Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 0; i < a.length; i += 1) {
    let diagonal = row[0];
    row[0] = i + 1;
    for (let j = 0; j < b.length; j += 1) {
      const above = row[j + 1];
      row[j + 1] = Math.min(diagonal + (a[i] === b[j] ? 0 : 1), above + 1, row[j] + 1);
      diagonal = above;
    }
  }
  return row[b.length] / a.length;
}

/** Equal words have equal numbers; `ids` has those of the words until now. */
function wordsOf(text: string, ids: Map<string, number>): Uint32Array {
  const words =
    text
      .slice(0, MOST_CHARACTERS)
      .toLowerCase()
      .match(/[\p{L}\p{N}']+/gu) ?? [];
  return Uint32Array.from(words.slice(0, MOST_WORDS), (word) => {
    const id = ids.get(word) ?? ids.size;
    ids.set(word, id);
    return id;
  });
}

/** Of the transcripts, or of the results of a text task; undefined when there is neither. */
export function textDifference(a: JobOutput, b: JobOutput): number | undefined {
  if (a.transcript && b.transcript) return wordDifference(a.transcript.text, b.transcript.text);
  if (!a.text || !b.text) return undefined;
  // A long result is an object, which is not read.
  if (a.text.result === undefined || b.text.result === undefined) return undefined;
  return JSON.stringify(a.text.result) === JSON.stringify(b.text.result) ? 0 : 1;
}

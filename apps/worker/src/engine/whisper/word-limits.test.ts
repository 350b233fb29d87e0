/** The recorded reference is made by test/real/whisper/make_word_limits.py. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { WindowWord } from '../protocol/messages.ts';
import { limitWords } from './word-times.ts';

interface Case {
  readonly given: readonly {
    readonly start: number;
    readonly end: number;
    readonly words: readonly WindowWord[];
  }[];
  readonly wanted: readonly (readonly WindowWord[])[];
}

const RECORDED = new URL('../../../../../test/real/whisper/fixtures/word-limits.json', import.meta.url);
const cases = JSON.parse(readFileSync(RECORDED, 'utf8')) as Case[];

describe('limitWords', () => {
  it.each(cases.map((each, i) => ({ ...each, i })))(
    'Words beside pauses and marks get the times that openai-whisper gives them (case $i)',
    ({ given, wanted }) => {
      const limited = limitWords(
        given.map(({ words }) => words),
        given,
      );
      expect(limited.map(({ word }) => word)).toEqual(wanted.flat().map(({ word }) => word));
      // Recorded to four decimals.
      for (const [i, { start, end }] of wanted.flat().entries()) {
        expect(limited[i].start).toBeCloseTo(start, 3);
        expect(limited[i].end).toBeCloseTo(end, 3);
      }
    },
  );
});

import { expect, test } from 'vitest';
import type { EntityOptions } from '../protocol/messages.ts';
import { entitiesOf } from './entities.ts';
import type { TextTokenizer } from './tokenizer.ts';

const TEXT = 'a b c';

/** A tokenizer of single letters between blanks. */
const letters = {
  spans: () => [0, 2, 4].map((start) => ({ start, end: start + 1, continues: false })),
  tokenOf: (id: number) => 'abc'[id],
  isUnknown: () => false,
  join: (words: readonly string[]) => words.join(' '),
} as unknown as TextTokenizer;

/** The entities of a text whose tokens have these labels. */
function found(labels: readonly string[], aggregation: EntityOptions['aggregation']): string[] {
  const all = [...new Set(labels)];
  const values = Float32Array.from(labels.flatMap((label) => all.map((each) => (each === label ? 9 : 0))));
  const encoded = { ids: [0, 1, 2], typeIds: [0, 0, 0], start: 0, count: 3, wasTruncated: false };
  const logits = { values, positions: 3, width: all.length };
  const options = { aggregation, ignoreLabels: ['O'] };
  return entitiesOf({ encoded, text: TEXT }, logits, letters, all, options).map(
    ({ label, word }) => `${label}: ${word}`,
  );
}

test('A group is named by what follows the first hyphen of its label, whatever stands before it', () => {
  expect(found(['B-PER', 'I-PER', 'O'], 'simple')).toEqual(['PER: a b']);
  expect(found(['E-PER', 'S-LOC-CITY', 'O'], 'simple')).toEqual(['PER: a', 'LOC-CITY: b']);
  expect(found(['PER', 'PER', 'geo-loc'], 'simple')).toEqual(['PER: a b', 'loc: c']);
});

test('Without aggregation a label keeps its marks', () => {
  expect(found(['E-PER', 'geo-loc', 'O'], 'none')).toEqual(['E-PER: a', 'geo-loc: b']);
});

test('Labels with other marks than B and I join only their equals', () => {
  expect(found(['B-PER', 'E-PER', 'E-PER'], 'simple')).toEqual(['PER: a', 'PER: b c']);
});

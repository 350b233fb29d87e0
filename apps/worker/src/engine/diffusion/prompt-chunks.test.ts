import { expect, test } from 'vitest';
import { chunkPrompt, type TokenizedPart } from './prompt-chunks.ts';

const COMMA = 0;
const RULES = { length: 75, comma: COMMA };

/** Ids 1, 2 and so on, with commas at these places. */
const text = (length: number, commas: readonly number[] = [], weight = 1): TokenizedPart => ({
  ids: Array.from({ length }, (_, i) => (commas.includes(i) ? COMMA : i + 1)),
  weight,
  isBreak: false,
});
const BREAK: TokenizedPart = { ids: [], weight: -1, isBreak: true };

const lengths = (...parts: readonly TokenizedPart[]) =>
  chunkPrompt(parts, RULES).map(({ ids }) => ids.length);

test('A prompt of up to 75 tokens is one chunk, also an empty one', () => {
  expect(lengths(text(75))).toEqual([75]);
  expect(lengths(text(0))).toEqual([0]);
  expect(chunkPrompt([], RULES)).toEqual([{ ids: [], weights: [] }]);
});

test('Without a comma near its end a chunk ends where it is full', () => {
  expect(lengths(text(160))).toEqual([75, 75, 10]);
  expect(lengths(text(80, [54]))).toEqual([75, 5]);
});

test('What follows the last comma of the last 20 tokens moves into the next chunk, and no token is lost', () => {
  expect(lengths(text(80, [55]))).toEqual([56, 24]);
  expect(lengths(text(80, [60, 70]))).toEqual([71, 9]);
  const chunks = chunkPrompt([text(80, [60])], RULES);
  expect(chunks.flatMap(({ ids }) => ids)).toEqual(text(80, [60]).ids);
});

test('A comma that would be the first of a new chunk moves nothing', () => {
  expect(lengths(text(80, [70, 75]))).toEqual([75, 5]);
});

test('A comma moves text once: the moved text has none before it', () => {
  expect(lengths(text(150, [74]))).toEqual([75, 75]);
  expect(lengths(text(160, [60]))).toEqual([61, 75, 24]);
});

test('BREAK ends a chunk, also an empty one', () => {
  expect(lengths(text(3), BREAK, text(4))).toEqual([3, 4]);
  expect(lengths(BREAK, text(4))).toEqual([0, 4]);
  expect(lengths(text(3), BREAK, BREAK, text(1))).toEqual([3, 0, 1]);
  expect(lengths(text(3), BREAK)).toEqual([3]);
});

test('Weights stay with their tokens when these move', () => {
  const [first, second] = chunkPrompt([text(61, [60]), text(19, [], 1.3)], RULES);
  expect(first.weights).toEqual(new Array(61).fill(1));
  expect(second.weights).toEqual(new Array(19).fill(1.3));
});

test('Without a comma in the vocabulary every chunk is filled', () => {
  expect(
    chunkPrompt([text(80, [60])], { length: 75, comma: undefined }).map(({ ids }) => ids.length),
  ).toEqual([75, 5]);
});

import { expect, test } from 'vitest';
import { pixelDifference, wordDifference } from './output-difference.ts';

test('Pictures differ by the mean difference of their color values, and completely when their sizes differ', async () => {
  expect(await pixelDifference(Uint8Array.of(0, 10, 255), Uint8Array.of(0, 13, 249))).toBe(3);
  expect(await pixelDifference(Uint8Array.of(7, 7, 7), Uint8Array.of(7, 7, 7))).toBe(0);
  expect(await pixelDifference(Uint8Array.of(1, 2, 3), Uint8Array.of(1, 2, 3, 4))).toBe(255);
});

test('Transcripts differ by the words to insert, remove or replace, whatever their case and punctuation', () => {
  expect(wordDifference('Fire it slowly.', ' fire it, slowly')).toBe(0);
  expect(wordDifference('fire it slowly now', 'fire slowly then')).toBe(0.5);
  expect(wordDifference('', '')).toBe(0);
  expect(wordDifference('', 'thank you')).toBe(1);
  expect(wordDifference('one', 'one two three')).toBe(2);
});

test('A long transcript is compared from its start', () => {
  const long = Array.from({ length: 5_000 }, (_, i) => `word${i}`).join(' ');
  expect(wordDifference(long, `${long} and more`)).toBe(0);
  expect(wordDifference(long, long.replace('word7 ', 'other '))).toBe(1 / 1_000);
});

test('The largest picture is compared in turns, between which the process does other work', async () => {
  const [width, height] = [4000, 4000];
  const [a, b] = [new Uint8Array(width * height * 3), new Uint8Array(width * height * 3).fill(2)];
  let turns = 0;
  let isOver = false;
  const other = () => {
    turns += 1;
    if (!isOver) setImmediate(other);
  };
  setImmediate(other);
  expect(await pixelDifference(a, b)).toBe(2);
  isOver = true;
  expect(turns).toBeGreaterThanOrEqual(40);
});

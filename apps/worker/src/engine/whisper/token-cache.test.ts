import { expect, test } from 'vitest';
import { EvenCache, SlotCache, type TokenCache } from './token-cache.ts';

const SIZES = { type: 'float32', heads: 2, headSize: 3, tensors: 2 } as const;

/** `[heads, length, headSize]`; each value encodes its row, head, token and index. */
const own = (row: number, length: number, from = 0): Float32Array[] =>
  [0, 0.5].map((tensor) =>
    Float32Array.from({ length: 2 * length * 3 }, (_, i) => {
      const [head, token] = [Math.floor(i / (length * 3)), from + (Math.floor(i / 3) % length)];
      return row * 100_000 + head * 10_000 + token * 10 + (i % 3) + tensor;
    }),
  );
/** The outputs of a call in which each of these rows writes its next token. */
const joined = (parts: Float32Array[][]): Float32Array[] =>
  [0, 1].map((tensor) => Float32Array.from(parts.flatMap((part) => [...part[tensor]])));

/** The tokens of a row, read from the feeds: `[heads, length, headSize]` of both tensors. */
function tokensOf(cache: TokenCache, row: number): number[][] {
  const { past, tokens } = cache.feeds(0, cache.lengths.length);
  return past.map(({ data }) =>
    [0, 1].flatMap((head) => {
      const start = (row * 2 + head) * tokens * 3;
      return [...(data as Float32Array).subarray(start, start + cache.lengths[row] * 3)];
    }),
  );
}
const expectRow = (cache: TokenCache, row: number, made: number, length: number): void =>
  expect(tokensOf(cache, row)).toEqual(own(made, length).map((data) => [...data]));

test('Rows of any length join, write and leave, and each keeps its own tokens', () => {
  const cache = new SlotCache(SIZES);
  cache.push(own(1, 4), 4);
  cache.push(own(2, 30), 30);
  for (let i = 0; i < 40; i++) {
    cache.feeds(0, 2);
    cache.store(0, 2, joined([own(1, 1, 4 + i), own(2, 1, 30 + i)]));
    cache.advance();
  }
  expectRow(cache, 0, 1, 44);
  expectRow(cache, 1, 2, 70);
  cache.push(own(3, 2), 2);
  cache.remove(0);
  expect(cache.lengths).toEqual([2, 70]);
  expectRow(cache, 0, 3, 2);
  expectRow(cache, 1, 2, 70);
  cache.remove(1);
  expectRow(cache, 0, 3, 2);
});

test('A slot has room for the next token and for few more', () => {
  const cache = new SlotCache(SIZES);
  const room = (): number => cache.feeds(0, cache.lengths.length).tokens;
  cache.push(own(1, 3), 3);
  expect(room()).toBe(32);
  cache.push(own(2, 200), 200);
  expect(room()).toBe(224);
  cache.remove(1);
  expect(room()).toBe(32);
  expectRow(cache, 0, 1, 3);
});

test('The unused part of a slot is finite, whatever it held before', () => {
  const cache = new SlotCache(SIZES);
  cache.push(
    [0, 1].map(() => new Float32Array(2 * 5 * 3).fill(Number.NaN)),
    5,
  );
  cache.remove(0);
  cache.push(own(1, 2), 2);
  for (const { data } of cache.feeds(0, 1).past) expect([...data].every(Number.isFinite)).toBe(true);
});

test('Half precision keeps its bits', () => {
  const cache = new SlotCache({ ...SIZES, type: 'float16' });
  cache.push([Uint16Array.of(1, 2, 3, 4, 5, 6), Uint16Array.of(7, 8, 9, 10, 11, 12)], 1);
  const { past } = cache.feeds(0, 1);
  expect(past[0].type).toBe('float16');
  expect([...past[0].data.subarray(0, 3), ...past[1].data.subarray(32 * 3, 33 * 3)]).toEqual([
    1, 2, 3, 10, 11, 12,
  ]);
});

test('Rows of equal length grow by the outputs of a call, whole or in parts, and leave one by one', () => {
  const cache = new EvenCache(SIZES);
  for (const row of [1, 2, 3]) cache.push(own(row, 4), 4);
  cache.store(0, 3, joined([1, 2, 3].map((row) => own(row, 5))));
  cache.advance();
  cache.store(0, 2, joined([1, 2].map((row) => own(row, 6))));
  cache.store(2, 3, own(3, 6));
  cache.advance();
  for (const [row, made] of [1, 2, 3].entries()) expectRow(cache, row, made, 6);
  cache.remove(0);
  expectRow(cache, 0, 3, 6);
  expectRow(cache, 1, 2, 6);
  expect(cache.row(1).map((data) => [...data])).toEqual(own(2, 6).map((data) => [...data]));
  expect(() => cache.push(own(4, 3), 3)).toThrow('a bug in Lehr');
});

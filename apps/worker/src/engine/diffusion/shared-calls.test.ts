import { expect, test } from 'vitest';
import {
  callsByLength,
  joinOutputs,
  MAX_SHARED_TOKENS,
  RepeatedEmbeddings,
  toOneLength,
} from './shared-calls.ts';

const callsOf = (counts: readonly number[], maxShared = MAX_SHARED_TOKENS) => {
  const tokens = counts.map((count) => count * 77);
  return callsByLength(tokens, maxShared).map((call) => ({ rows: call.rows, chunks: call.tokens / 77 }));
};
const chunks = (...counts: readonly number[]) => callsOf(counts);

test('Rows of equal length share a call as they are', () => {
  expect(chunks(1, 1, 1)).toEqual([{ rows: [0, 1, 2], chunks: 1 }]);
  expect(chunks(3, 3)).toEqual([{ rows: [0, 1], chunks: 3 }]);
});

test('Rows of different lengths share a call of their common multiple, up to the longest prompt that is allowed', () => {
  expect(chunks(1, 2, 1)).toEqual([{ rows: [1, 0, 2], chunks: 2 }]);
  expect(chunks(2, 3)).toEqual([{ rows: [1, 0], chunks: 6 }]);
  expect(chunks(1, 8, 4)).toEqual([{ rows: [1, 2, 0], chunks: 8 }]);
});

test('Beyond that they run apart, each once', () => {
  expect(chunks(3, 4)).toEqual([
    { rows: [1], chunks: 4 },
    { rows: [0], chunks: 3 },
  ]);
  expect(chunks(1, 5, 7, 2)).toEqual([
    { rows: [2, 0], chunks: 7 },
    { rows: [1], chunks: 5 },
    { rows: [3], chunks: 2 },
  ]);
});

test('Where nothing is shared, rows of each length run apart', () => {
  expect(callsOf([1, 2, 1], 0)).toEqual([
    { rows: [1], chunks: 2 },
    { rows: [0, 2], chunks: 1 },
  ]);
});

test('Outputs of several calls become one, with every row at its place', () => {
  const calls = [
    { rows: [2, 0], tokens: 1 },
    { rows: [1], tokens: 2 },
  ];
  const outputs = [
    { type: 'float32', data: Float32Array.of(5, 6, 1, 2, 9, 9), dims: [3, 2] },
    { type: 'float32', data: Float32Array.of(3, 4), dims: [1, 2] },
  ] as const;
  expect(joinOutputs(outputs, calls, 3)).toEqual({
    type: 'float32',
    data: Float32Array.of(1, 2, 3, 4, 5, 6),
    dims: [3, 2],
  });
});

test('A repeated embedding is made once for as long as its length stays', () => {
  const repeated = new RepeatedEmbeddings();
  const embedding = Float32Array.of(1, 2);
  const [twice, again] = repeated.of([embedding, embedding], 4);
  expect(twice).toEqual(Float32Array.of(1, 2, 1, 2));
  expect(again).toBe(twice);
  expect(repeated.of([embedding], 2)).toEqual([embedding]);
  expect(repeated.of([embedding], 4)[0]).toBe(twice);
});

test('Only what the last call has repeated is kept, because the cache of prompts keeps embeddings for long', () => {
  const repeated = new RepeatedEmbeddings();
  const [cat, dog] = [Float32Array.of(1, 2), Float32Array.of(3, 4)];
  const [ofCat] = repeated.of([cat, dog], 8);
  repeated.of([dog], 8);
  expect(repeated.of([cat], 8)[0]).not.toBe(ofCat);
});

test('The embeddings of one picture become equally long, unless their common multiple is too long', () => {
  const [a, b] = [Float32Array.of(1, 2), Float32Array.of(3, 4, 5)];
  expect(toOneLength([a, b], 6)).toEqual([
    Float32Array.of(1, 2, 1, 2, 1, 2),
    Float32Array.of(3, 4, 5, 3, 4, 5),
  ]);
  expect(toOneLength([a, b], 5)).toEqual([a, b]);
  const [same] = toOneLength([a, a], 0);
  expect(same).toBe(a);
});

import { expect, test } from 'vitest';
import { beginnings, mean, medianFilter, standardise } from './alignment.ts';
import { SeededUniform } from './logit-rules.ts';

const filtered = (values: number[], width: number): number[] => {
  const out = new Float32Array(values.length);
  medianFilter(Float32Array.from(values), width, out);
  return [...out];
};

test('The median is taken around each value, mirrored at the ends', () => {
  expect(filtered([0, 9, 1, 1, 8, 2, 2], 3)).toEqual([9, 1, 1, 1, 2, 2, 2]);
  expect(filtered([5, 1, 4, 2, 3], 5)).toEqual([4, 2, 3, 2, 3]);
  expect(filtered([5, 1], 7)).toEqual([5, 1]);
  expect(filtered([5, 1, 2], 1)).toEqual([5, 1, 2]);
});

test('The attention of a head is cut to the sound, scaled to sums of one, and standardised over the tokens', () => {
  const { rows, columns, values } = standardise(Float32Array.of(0.4, 0.1, 0.5, 0.3, 0.3, 0.4), 2, 2, 1);
  expect([rows, columns]).toEqual([2, 2]);
  // 0.8 and 0.5 at the first position, 0.2 and 0.5 at the second.
  for (const [i, wanted] of [1, -1, -1, 1].entries()) expect(values[i]).toBeCloseTo(wanted, 5);
});

test('The mean of heads is taken value by value', () => {
  const matrix = (values: number[]) => ({ rows: 1, columns: 2, values: Float32Array.from(values) });
  expect([...mean([matrix([1, 2]), matrix([3, 6])]).values]).toEqual([2, 4]);
});

test('A token begins where its attention is, and never before the previous token', () => {
  const attention = [
    [2, 2, -1, -1, -1, -1, -1, -1],
    [-1, -1, 2, -1, -1, -1, -1, -1],
    [-1, -1, -1, 2, 2, 2, -1, -1],
    [-1, -1, -1, -1, -1, -1, 2, 2],
  ];
  const values = Float32Array.from(attention.flat());
  expect(beginnings({ rows: 4, columns: 8, values })).toEqual([0, 2, 3, 6]);
});

interface Path {
  readonly weight: number;
  readonly cells: readonly (readonly [row: number, column: number])[];
}

/** The heaviest path from the first token and position to the last that never goes back, by trying all of them. */
function bestByForce(values: Float32Array, rows: number, columns: number, row = 0, column = 0): Path {
  const weight = values[row * columns + column];
  if (row === rows - 1 && column === columns - 1) return { weight, cells: [[row, column]] };
  const [best] = [
    [row + 1, column + 1],
    [row + 1, column],
    [row, column + 1],
  ]
    .filter(([r, c]) => r < rows && c < columns)
    .map(([r, c]) => bestByForce(values, rows, columns, r, c))
    .sort((a, b) => b.weight - a.weight);
  return { weight: weight + best.weight, cells: [[row, column], ...best.cells] };
}

test('The heaviest of all paths that never go back is found', () => {
  const uniform = new SeededUniform(3);
  for (let round = 0; round < 40; round++) {
    const [rows, columns] = [2 + (round % 4), 3 + (round % 5)];
    const values = Float32Array.from({ length: rows * columns }, () => uniform.next() - 0.5);
    const { cells } = bestByForce(values, rows, columns);
    const wanted = Array.from({ length: rows }, (_, row) => cells.find(([r]) => r === row)?.[1]);
    expect(beginnings({ rows, columns, values })).toEqual(wanted);
  }
});

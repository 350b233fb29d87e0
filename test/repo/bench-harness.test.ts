import { expect, test } from 'vitest';
import { type Figure, isMet, machine, measure, percentile, table } from '../../lab/bench/harness.ts';

/** A figure whose sides return the given numbers in turn, and a record of what was called. */
function ratioOf(ours: readonly number[], baseline: readonly number[], options = {}) {
  const calls: string[] = [];
  const side = (name: string, values: readonly number[]) => {
    let next = 0;
    return () => {
      calls.push(name);
      return values[next++];
    };
  };
  const figure: Figure = {
    kind: 'ratio',
    name: 'whole stack over bare loop',
    unit: 'pictures/s',
    rounds: ours.length,
    warmUps: 0,
    ...options,
    open: async () => ({
      ours: side('ours', ours),
      baseline: side('baseline', baseline),
      close: async () => void calls.push('close'),
    }),
  };
  return { figure, calls };
}

test('A ratio is the median of the ratios of all rounds, not the ratio of the medians', async () => {
  const { figure } = ratioOf([10, 30, 20], [5, 10, 40]);
  const row = await measure(figure);
  expect(row).toMatchObject({ value: 2, min: 0.5, max: 3, count: 3, sides: { ours: 20, baseline: 10 } });
});

test('The two sides alternate in running first, and every opened side is closed', async () => {
  const { figure, calls } = ratioOf([1, 1, 1], [1, 1, 1]);
  await measure(figure);
  expect(calls).toEqual(['ours', 'baseline', 'baseline', 'ours', 'ours', 'baseline', 'close']);
});

test('Rounds that warm up do not count', async () => {
  const { figure } = ratioOf([100, 1, 1], [1, 1, 1], { warmUps: 1, rounds: 2 });
  expect(await measure(figure)).toMatchObject({ value: 1, max: 1, count: 2 });
});

test.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY])(
  'A side that returns %d is an error, and the side is still closed',
  async (bad) => {
    const { figure, calls } = ratioOf([bad], [1]);
    await expect(measure(figure)).rejects.toThrow(/whole stack over bare loop: ours gave/);
    expect(calls.at(-1)).toBe('close');
  },
);

test('A sampled figure is a percentile of its samples', async () => {
  const samples = Array.from({ length: 101 }, (_, i) => 100 - i);
  const close = async () => {};
  const open = async () => ({ samples: async () => samples, close });
  const row = await measure({ kind: 'sampled', name: 'claim of 8', unit: 'ms', percentile: 99, open });
  expect(row).toEqual({ name: 'claim of 8', unit: 'ms', value: 99, min: 0, max: 100, count: 101 });
});

test('A figure of many samples says how much the percentile of each tenth of them differs', async () => {
  const samples = Array.from({ length: 200 }, (_, i) => Math.floor(i / 20));
  const open = async () => ({ samples: async () => samples, close: async () => {} });
  const row = await measure({ kind: 'sampled', name: 'claim of 8', unit: 'ms', percentile: 50, open });
  expect(row.rounds).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
});

test('A quick run measures fewer rounds', async () => {
  const { figure } = ratioOf([1, 1, 1, 1, 1], [1, 1, 1, 1, 1]);
  expect(await measure(figure, { mostRounds: 3 })).toMatchObject({ count: 3, rounds: [1, 1, 1] });
});

test('Percentiles are interpolated, and an empty list has none', () => {
  expect(percentile([4, 1, 3, 2], 50)).toBe(2.5);
  expect(percentile([7], 99)).toBe(7);
  expect(() => percentile([], 50)).toThrow('no samples were taken');
});

test('The table shows machine, medians, spread, and whether the target was met', () => {
  const ratio = { name: 'stack', unit: 'pictures/s', value: 0.9612, min: 0.9, max: 1.01, count: 9 };
  const sides = { ours: 1234.5, baseline: 0.00123 };
  const sampled = { name: 'claim', unit: 'ms', value: 2.5, min: 1, max: 9, count: 500 };
  const [first, blank, head, , ...lines] = table([
    { ...ratio, sides, target: { atLeast: 0.95 } },
    { ...sampled, target: { atMost: 2 } },
    sampled,
  ]).split('\n');
  expect(first).toBe(machine());
  expect(first).toMatch(/\d+ cores, .* Node \d+\.\d+\.\d+, load \d/);
  expect(blank).toBe('');
  expect(head.split('|')).toHaveLength(lines[0].split('|').length);
  expect(lines).toEqual([
    '| stack | 1235, 0.00123 pictures/s | **0.961** | 0.9 .. 1.01 | 9 | >= 0.95 |',
    '| claim |  | **2.5** ms | 1 .. 9 | 500 | <= 2, missed |',
    '| claim |  | **2.5** ms | 1 .. 9 | 500 |  |',
  ]);
});

test('A figure that equals its target meets it', () => {
  expect(isMet({ value: 0.95, target: { atLeast: 0.95 } })).toBe(true);
  expect(isMet({ value: 0.949, target: { atLeast: 0.95 } })).toBe(false);
  expect(isMet({ value: 2, target: { atMost: 2 } })).toBe(true);
  expect(isMet({ value: 2.01, target: { atMost: 2 } })).toBe(false);
});

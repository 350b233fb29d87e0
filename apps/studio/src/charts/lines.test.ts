import { expect, test } from 'vitest';
import { linesOf } from './lines.ts';

test('A line keeps its colour when another order of values comes', () => {
  const one = { name: 'tiny', values: [1, 2] };
  const other = { name: 'whisper', values: [3, null] };
  const colours = (series: (typeof one)[]) =>
    Object.fromEntries(linesOf(series).map(({ name, colour }) => [name, colour]));
  expect(colours([one, other as typeof one])).toEqual(colours([other as typeof one, one]));
});

test('What succeeded is green and what failed is red, and no other line of the chart has these colours', () => {
  const series = ['failed', 'expired', 'succeeded', 'refused'].map((name) => ({ name, values: [1] }));
  const colours = linesOf(series).map(({ colour }) => colour);
  expect(colours[0]).toBe('--bad');
  expect(colours[2]).toBe('--good');
  expect(new Set(colours).size).toBe(4);
});

test('The last value is that of the last point, also when it has none, and the highest is of all', () => {
  expect(linesOf([{ name: 'a', values: [5, 7, null] }])).toMatchObject([{ last: null, highest: 7 }]);
});

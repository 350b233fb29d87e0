import { expect, test } from 'vitest';
import { fairLevel } from './record-space.ts';

test.each([
  ['one large holder is cut to what the small ones leave', [10, 500, 20], 300, 270],
  ['several large holders are cut to the same level', [10, 200, 400], 210, 100],
  ['equal holders share equally', [100, 100, 100], 150, 50],
  ['without any capacity everybody is cut to nothing', [10, 20], -5, 0],
  ['no holder is cut while all fit', [10, 20], 30, Number.POSITIVE_INFINITY],
  ['without holders there is no cut', [], 0, Number.POSITIVE_INFINITY],
])('A capacity is shared fairly: %s', (_, amounts, capacity, level) => {
  expect(fairLevel(amounts, capacity)).toBe(level);
});

test('The amounts cut to the level fill the capacity exactly', () => {
  const amounts = [3, 14, 15, 92, 65, 35, 89, 79, 32, 38];
  const level = fairLevel(amounts, 300);
  const cut = amounts.map((amount) => Math.min(amount, level));
  expect(cut.reduce((sum, amount) => sum + amount, 0)).toBeCloseTo(300, 9);
});

import { expect, test } from 'vitest';
import { shownOf } from './rows.ts';

const GRID = { count: 10_000, columns: 5, pitch: 300, above: 0, height: 900 };

test('At the top, the first rows are in the page, and the room of the others is kept', () => {
  expect(shownOf(GRID)).toEqual({ from: 0, to: 25, before: 0, after: (2000 - 5) * 300 });
});

test('Far down, only the rows around the window are in the page', () => {
  const shown = shownOf({ ...GRID, above: 150_000 });
  expect(shown).toEqual({ from: 498 * 5, to: 505 * 5, before: 498 * 300, after: (2000 - 505) * 300 });
});

test.each([0, 299, 300, 4_321, 599_999, 700_000, -500])(
  'The rows before, in and after the page have the height of all rows: %i pixels down',
  (above) => {
    const { from, to, before, after } = shownOf({ ...GRID, above });
    expect(before + Math.ceil((to - from) / 5) * 300 + after).toBe(2000 * 300);
    expect(to - from).toBeLessThanOrEqual(9 * 5);
  },
);

test('A last row that is not full ends with the last tile', () => {
  expect(shownOf({ ...GRID, count: 7 })).toEqual({ from: 0, to: 7, before: 0, after: 0 });
});

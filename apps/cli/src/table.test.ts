import { expect, test } from 'vitest';
import { durationText, plain, tableOf } from './table.ts';

test('Columns are as wide as their widest cell, and no line ends in spaces', () => {
  expect(
    tableOf(
      ['A', 'LONG'],
      [
        ['wide cell', ''],
        ['b', 'c'],
      ],
    ),
  ).toBe('A          LONG\nwide cell\nb          c\n');
});

test('Control characters in a cell cannot move the cursor', () => {
  expect(plain('a\u001b[2Jb\rc\nd\u009b1m')).toBe('a�[2Jb�c\nd�1m');
  expect(tableOf(['NAME'], [['\u001b[31mred']])).toBe('NAME\n�[31mred\n');
});

test.each([
  [0, '0 ms'],
  [849.6, '850 ms'],
  [1000, '1.0 s'],
  [59_940, '59.9 s'],
  [245_000, '4 min 5 s'],
  [3_600_000, '1 h 0 min'],
  [90_000_000, '25 h 0 min'],
])('A duration of %d ms is written as %s', (ms, text) => {
  expect(durationText(ms)).toBe(text);
});

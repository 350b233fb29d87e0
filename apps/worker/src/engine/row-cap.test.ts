import { expect, test } from 'vitest';
import { knee, RowCap, worthWidening } from './row-cap.ts';

/** A device that takes `fixed + perRow * rows` ms for a step. */
const curve = (fixed: number, perRow: number): [number, number][] =>
  [1, 2, 4, 8, 16, 32].map((rows) => [rows, fixed + perRow * rows]);

test('a device that is busy with a few rows is not given more', () => {
  const measured: [number, number][] = [];
  for (const rung of curve(9, 61.9)) if (worthWidening(measured)) measured.push(rung);
  expect(measured.map(([rows]) => rows)).toEqual([1, 2, 4, 8]);
  expect(knee(measured)).toBe(4);
});

test('a device that is fast enough for many rows gets many', () => {
  expect(knee(curve(46, 1))).toBe(32);
});

test('rows that make every step slower than its share are left out', () => {
  expect(
    knee([
      [1, 58.6],
      [2, 107],
      [4, 206],
      [8, 405],
      [16, 845],
    ]),
  ).toBe(4);
});

test('a cap never exceeds its limit, and the limit holds until something is measured', () => {
  expect(new RowCap(8).rows).toBe(8);
  const cap = new RowCap(8);
  for (const [rows, ms] of curve(46, 1)) cap.observe(rows, ms);
  expect(cap.rows).toBe(8);
});

test('the cap follows a device that changes while it serves', () => {
  const cap = new RowCap();
  for (const [rows, ms] of curve(40, 1)) cap.observe(rows, ms);
  expect(cap.rows).toBe(32);
  // Another process takes a core: every row now costs ten times as much.
  for (let i = 0; i < 60; i++) for (const [rows, ms] of curve(1, 10)) cap.observe(rows, ms);
  expect(cap.rows).toBeLessThan(8);
});

test('warm-up climbs the ladder only while a doubling still pays', () => {
  expect(worthWidening([])).toBe(true);
  expect(worthWidening([[1, 10]])).toBe(true);
  expect(
    worthWidening([
      [1, 10],
      [2, 12],
    ]),
  ).toBe(true);
  expect(
    worthWidening([
      [1, 10],
      [2, 20],
    ]),
  ).toBe(false);
});

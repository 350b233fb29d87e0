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
  expect(new RowCap({ ceiling: 8 }).rows).toBe(8);
  const cap = new RowCap({ ceiling: 8 });
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

test('a shape nobody has measured starts from what another shape could do, not from its first small batch', () => {
  const cap = new RowCap();
  for (const [rows, ms] of curve(9, 61.9).slice(0, 4)) cap.observe(rows, ms);
  const other = cap.forAnotherShape();
  expect(other.rows).toBe(4);
  other.observe(1, 10);
  expect(other.rows).toBe(4);
  other.observe(4, 12);
  expect(other.rows).toBe(8);
});

test('batches that were once too wide get another chance after a while', () => {
  const cap = new RowCap();
  for (const [rows, ms] of curve(1, 10)) cap.observe(rows, ms);
  const narrow = cap.rows;
  // The device is fast again, but only the narrow batches it is given show it.
  for (let step = 0; step < 2000; step++) cap.observe(Math.min(cap.rows, 32), 40 + cap.rows);
  expect(cap.rows).toBeGreaterThan(narrow);
});

test('a fixed cap is what the operator said, and what fits is never exceeded', () => {
  const cap = new RowCap({ ceiling: 16, fixed: true });
  for (const [rows, ms] of curve(1, 10)) cap.observe(rows, ms);
  expect(cap.rows).toBe(16);
  cap.limit(6);
  expect(cap.rows).toBe(6);
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

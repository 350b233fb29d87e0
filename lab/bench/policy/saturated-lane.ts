/** A lane that always has enough samples, on a device whose step times may change with time: what a row cap makes of it, in virtual time. */
import { RowCap } from '../../../apps/worker/src/engine/lanes/row-cap.ts';

/** Ms of a step of so many rows that begins at this ms. */
export type Device = (rows: number, at: number) => number;

/** Rows per ms with a row cap that is measured, from its warm-up on, or with the same number of rows in every step. */
export function throughput(device: Device, forMs: number, cap: RowCap | number): number {
  let at = 0;
  let rows = 0;
  while (at < forMs) {
    const each = typeof cap === 'number' ? cap : cap.rows;
    const ms = device(each, at);
    if (typeof cap !== 'number') cap.observe(each, ms);
    at += ms;
    rows += each;
  }
  return rows / at;
}

const FIXED = [1, 2, 4, 8, 16, 32];

/** The best of all fixed row counts, found by trying each. */
export const bestFixed = (device: Device, forMs: number): number =>
  Math.max(...FIXED.map((rows) => throughput(device, forMs, rows)));

/** A row cap as a warm-up leaves it. */
export function warmCap(device: Device): RowCap {
  const cap = new RowCap();
  for (const rows of FIXED) cap.measure(rows, device(rows, 0));
  return cap;
}

/** One row of lab/faults.md: a test that injects a fault, and the result that it writes for the table. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { load, machineName, today, writeResult } from '../results.ts';
import type { Verdict } from './invariants.ts';

export interface FaultRow {
  /** `F1` to `F30`, with a letter where a fault has several forms. */
  readonly row: string;
  /** What is done to the system. */
  readonly injected: string;
  /** What Lehr promises; a whole sentence. */
  readonly promised: string;
  readonly timeoutMs?: number;
  /** For the row as a test of npm test. */
  readonly tags?: readonly 'long'[];
}

export interface Seen {
  /** What was seen, in a few words. */
  readonly seen: string;
  /** Measured values by name, such as `{ 'recovery': '1.2 s' }`. */
  readonly figures?: Readonly<Record<string, string | number>>;
}

export interface RowResult extends Omit<FaultRow, 'timeoutMs' | 'tags'>, Required<Seen> {
  readonly passed: boolean;
  readonly date: string;
  readonly machine: string;
  /** Processes that wanted to run, on average of the minute at the end of the row. */
  readonly load: number;
}

/** Only for a row that hangs: on a busy machine one was seen to take nine minutes. */
const HANG_MS = 1_800_000;

/** Defines the test of a row. Where CHAOS_RESULTS names a folder, the result is written there. */
export function faultRow(
  { timeoutMs = HANG_MS, tags = [], ...row }: FaultRow,
  run: () => Promise<Seen>,
): void {
  test(`${row.row}: ${row.promised}`, { timeout: timeoutMs, tags: [...tags] }, async () => {
    try {
      const { seen, figures = {} } = await run();
      write({ ...row, ...context(), seen, figures, passed: true });
    } catch (error) {
      const [reason] = String(error).split('\n');
      write({ ...row, ...context(), seen: reason, figures: {}, passed: false });
      throw error;
    }
  });
}

/** Fails the row when a promise was broken. */
export function expectKept({ violations }: Verdict): void {
  expect(violations).toEqual([]);
}

function context(): Pick<RowResult, 'date' | 'machine' | 'load'> {
  return { date: today(), machine: machineName(), load: load() };
}

function write(result: RowResult): void {
  const folder = process.env.CHAOS_RESULTS;
  if (folder) writeResult(join(folder, `${result.row}.json`), result);
}

/** For the table: `1.2 s`. */
export const seconds = (ms: number | undefined): string =>
  ms === undefined ? 'none' : `${(ms / 1000).toFixed(1)} s`;

/** The results of the benches: one file for each bench file, with what the run before it gave. */
import { fileURLToPath } from 'node:url';
import { readResults as readFolder, readResult, writeResult } from '../results.ts';
import type { Chart } from './charts.ts';
import type { Row } from './harness.ts';

export const RESULTS = new URL('./results/', import.meta.url);

export interface BenchRun {
  /** Of the day, YYYY-MM-DD. */
  readonly date: string;
  /** Without its load. */
  readonly machine: string;
  /** The load of the machine before and after. */
  readonly load: readonly [before: number, after: number];
  readonly seconds: number;
  readonly rows: readonly Row[];
}

export interface BenchResult extends BenchRun {
  /** The name of the bench file without `.bench.ts`. */
  readonly bench: string;
  readonly charts: readonly Chart[];
  /** The last run before this one. */
  readonly previous?: BenchRun;
}

/** In the order of their names. Throws when a file is damaged. */
export function readResults(folder: URL = RESULTS): BenchResult[] {
  return [...readFolder<BenchResult>(fileURLToPath(folder)).values()];
}

/** Writes the result; what was there becomes its `previous`. */
export function saveResult(result: Omit<BenchResult, 'previous'>, folder: URL = RESULTS): BenchResult {
  const file = fileURLToPath(new URL(`${result.bench}.json`, folder));
  const last = readResult<BenchResult>(file);
  const complete = { ...result, ...(last && { previous: runOf(last) }) };
  writeResult(file, JSON.parse(JSON.stringify(complete, shorter)));
  return complete;
}

const runOf = ({ date, machine, load, seconds, rows }: BenchResult): BenchRun => ({
  date,
  machine,
  load,
  seconds,
  rows,
});

/** Six significant digits are more than any of these figures has. */
const shorter = (_key: string, value: unknown): unknown =>
  typeof value === 'number' ? Number(value.toPrecision(6)) : value;

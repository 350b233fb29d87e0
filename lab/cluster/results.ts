/** Figures of the suite. lab/cluster.md is made from them. */
import { join } from 'node:path';
import { readResult, writeResult } from '../results.ts';

export const RESULTS = new URL('./results/', import.meta.url).pathname;

const fileOf = (name: string): string => join(RESULTS, `${name}.json`);

/** Keeps the figures of one case, in place of those of an earlier run. */
export const record = (name: string, figures: object): void => writeResult(fileOf(name), figures);

/** Keeps one row of a table of scenes, in place of the row with the same name. */
export function recordRow(
  table: string,
  row: { readonly name: string; readonly [column: string]: unknown },
): void {
  record(table, { ...readResult<object>(fileOf(table)), [row.name]: row });
}

/** Seconds with one decimal since a time of `performance.now()`. */
export const secondsSince = (from: number): number => Math.round((performance.now() - from) / 100) / 10;

/** Figures of the suite. lab/cluster.md is made from them. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

export const RESULTS = new URL('./results/', import.meta.url).pathname;

/** Keeps the figures of one case, in place of those of an earlier run. */
export async function record(name: string, figures: object): Promise<void> {
  await mkdir(RESULTS, { recursive: true });
  await writeFile(join(RESULTS, `${name}.json`), `${JSON.stringify(figures, undefined, 1)}\n`);
}

/** Keeps one row of a table of scenes, in place of the row with the same name. */
export async function recordRow(
  table: string,
  row: { readonly name: string; readonly [column: string]: unknown },
): Promise<void> {
  const kept = await readFile(join(RESULTS, `${table}.json`), 'utf8').then(JSON.parse, () => ({}));
  await record(table, { ...kept, [row.name]: row });
}

/** Seconds with one decimal since a time of `performance.now()`. */
export const secondsSince = (from: number): number => Math.round((performance.now() - from) / 100) / 10;

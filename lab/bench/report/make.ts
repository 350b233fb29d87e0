/** Saves results, and makes from all of them the report, a short summary for the terminal, and the tables of README and docs. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { machineName, today } from '../../results.ts';
import { changesOf } from '../changes.ts';
import { isMet, three } from '../harness.ts';
import { type BenchResult, RESULTS, readResults, saveResult } from '../results.ts';
import { reportPage } from './page.ts';
import { README_BENCHES, writePages } from './pages.ts';
import { goalText } from './tables.ts';

export { table } from '../harness.ts';
export { README_BENCHES };

/** Not in the repository: a quick run is no result to keep. */
const OWN = new URL('../../../.lehr/bench/', import.meta.url);
const QUICK = new URL('quick/', OWN);

const folderOf = (isQuick: boolean): URL => (isQuick ? QUICK : RESULTS);

type Measured = Pick<BenchResult, 'bench' | 'rows' | 'charts' | 'load' | 'seconds'>;

export function save(measured: Measured, isQuick: boolean): void {
  saveResult({ ...measured, date: today(), machine: machineName() }, folderOf(isQuick));
}

/** How long the bench took the last time, for the progress; empty when it never ran. */
export function lastDuration(bench: string): string {
  const last = readResults().find((each) => each.bench === bench);
  return last ? `; ${Math.ceil(last.seconds)} s the last time` : '';
}

export function makeReport({ isQuick, writes }: { isQuick: boolean; writes: boolean }): {
  report: string;
  summary: string;
} {
  const results = readResults(folderOf(isQuick));
  mkdirSync(OWN, { recursive: true });
  const report = new URL(isQuick ? 'quick-report.html' : 'report.html', OWN);
  writeFileSync(report, reportPage(results));
  if (writes && !isQuick) writePages(results);
  return { report: fileURLToPath(report), summary: summaryOf(results) };
}

function summaryOf(results: readonly BenchResult[]): string {
  const rows = results.flatMap((each) => each.rows).filter(({ target }) => target !== undefined);
  const missed = rows.filter((row) => !isMet(row));
  const changes = changesOf(results).filter(({ kind }) => kind !== 'other');
  return [
    `Goals met: ${rows.length - missed.length} of ${rows.length}. Missed:`,
    ...missed.map((row) => `  ${row.name}: ${three(row.value)}, goal ${goalText(row)}`),
    ...changes.map(
      ({ kind, name, before, after }) =>
        `${kind === 'worse' ? 'Worse' : 'Better'} than the run before: ${name}: ${three(before)}, now ${three(after)}`,
    ),
  ].join('\n');
}

/** The tables that README and docs have from the results of npm run lab -- bench. */
import { readFileSync, writeFileSync } from 'node:fs';
import { withPart } from '../../results.ts';
import { capacityPage } from '../capacity/page.ts';
import { isMet, type Row, three } from '../harness.ts';
import type { BenchResult } from '../results.ts';
import { goalText } from './tables.ts';

const ROOT = new URL('../../../', import.meta.url);

/** The files whose figures the README shows: `npm run lab -- bench --readme` measures them and writes the table. */
export const README_BENCHES: readonly string[] = ['whole', 'whisper', 'claim'];

/** A page, the name of a part of it, and what stands there, to its last newline. */
export interface PagePart {
  readonly page: string;
  readonly name: string;
  readonly text: string;
}

/** A part whose results are missing is left out, and its page keeps what it has. */
export function pageParts(results: readonly BenchResult[]): PagePart[] {
  const of = (benches: readonly string[]): BenchResult[] =>
    benches.flatMap((bench) => results.find((each) => each.bench === bench) ?? []);
  const parts = [
    { page: 'README.md', name: 'bench speed', own: of(README_BENCHES), text: speedTable },
    { page: 'lab/performance.md', name: 'bench policy', own: of(['policy']), text: fullTable },
    { page: 'lab/performance.md', name: 'bench load', own: of(['load', 'poisson']), text: fullTable },
    {
      page: 'lab/performance.md',
      name: 'bench stack',
      own: of(['whole', 'post', 'answer', 'text', 'claim', 'cost', 'host', 'users']),
      text: fullTable,
    },
    { page: 'docs/tuning.md', name: 'bench tune', own: of(['tune']), text: fullTable },
  ];
  return parts
    .filter(({ own }) => own.length > 0)
    .map(({ page, name, own, text }) => ({ page, name, text: text(own) }));
}

export function writePages(results: readonly BenchResult[]): void {
  for (const part of pageParts(results)) {
    const file = new URL(part.page, ROOT);
    writeFileSync(file, withPart(readFileSync(file, 'utf8'), part.name, part.text));
  }
  writeFileSync(new URL('lab/capacity.md', ROOT), capacityPage(results));
}

const runsOf = (results: readonly BenchResult[]): string => {
  const lines = results.map(
    ({ bench, date, machine, load }) =>
      `\`${bench}\` on ${date}, load ${load.map((each) => each.toFixed(1)).join(' to ')}, ${machine}`,
  );
  return `Run: ${lines.join('; ')}.\n`;
};

function speedTable(results: readonly BenchResult[]): string {
  const lines = results.flatMap(({ rows }) =>
    rows.map((row) => `| ${row.name} | ${measured(row)} | ${goal(row)} |`),
  );
  return `| Figure | Measured | Goal |\n| --- | --- | --- |\n${lines.join('\n')}\n\n${runsOf(results)}`;
}

function fullTable(results: readonly BenchResult[]): string {
  const lines = results.flatMap(({ rows }) =>
    rows.map((row) => {
      const sides = row.sides ? `${three(row.sides.ours)}, ${three(row.sides.baseline)} ${row.unit}` : '';
      return `| ${row.name} | ${sides} | **${measured(row)}** | ${three(row.min)} .. ${three(row.max)} | ${goal(row)} |`;
    }),
  );
  const head = '| What | Lehr, baseline | Figure | min .. max | Goal |\n| --- | --- | --- | --- | --- |';
  return `${head}\n${lines.join('\n')}\n\n${runsOf(results)}`;
}

const measured = (row: Row): string => (row.sides ? three(row.value) : `${three(row.value)} ${row.unit}`);
const goal = (row: Row): string =>
  row.target === undefined ? '' : `${goalText(row)}${isMet(row) ? '' : ', missed'}`;

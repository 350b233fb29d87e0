/** lab/faults.md, made from the results of the fault suite. */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { readResult, readResults, tableLine, writeResult } from '../results.ts';
import type { RowResult } from './fault-row.ts';

export type Results = Readonly<Record<string, RowResult>>;

const HEAD = `# What happens when something fails

<!-- made by npm run lab -- chaos from lab/chaos/results.json; do not edit -->

Each row is a test in [lab/chaos](chaos): it starts real processes (API, workers, Redis as it ships, a store, a webhook receiver), injects
the fault, and reads back every job. Workers run on a simulated device. After each row, the history of all calls must satisfy:

| | |
| --- | --- |
| I1 | every accepted job has an end, and one Idempotency-Key made one job |
| I2 | no job was seen in two different ends |
| I3 | a job has one set of outputs, and each output has the bytes that it promises |
| I4 | every event has one webhook id, and the end of the job was delivered |
| I5 | the store holds no output that no job shows |
| I6 | no job is unfinished after its deadline |
| I7 | nothing of a deleted job stays in Redis, and nothing at all in the store when every job is deleted |

\`npm run lab -- chaos\` runs all rows and writes this page; \`npm run lab -- chaos f03 f06\` runs some of them and keeps the other results.
Leases and intervals are shorter than the defaults unless a row says otherwise, so recovery from a lost worker is quicker here than in
production, where the lease is 30 s.

| Row | Injected | Promised | Seen | Measured |
| --- | --- | --- | --- | --- |
`;

const RESULTS = fileURLToPath(new URL('./results.json', import.meta.url));

/** Puts the rows of a folder, one a file, in the place of earlier ones, and writes the page. Returns how many there are. */
export function addRows(folder: string): number {
  const added = readResults<RowResult>(folder);
  const rows = sorted({ ...readResult<Results>(RESULTS), ...Object.fromEntries(added) });
  const all = Object.fromEntries(rows.map((result) => [result.row, result]));
  writeResult(RESULTS, all);
  writeFileSync(new URL('../faults.md', import.meta.url), faultsPage(all));
  return added.size;
}

export function faultsPage(results: Results): string {
  const rows = sorted(results);
  const places = [...new Set(rows.map(({ machine, date }) => `${date} on ${machine}`))];
  return `${HEAD}${rows.map(line).join('\n')}\n\nMeasured ${places.join('; ')}. The load of the machine is in each row.\n`;
}

function sorted(results: Results): RowResult[] {
  const place = ({ row }: RowResult): string =>
    row.slice(1).replace(/^\d+/, (digits) => digits.padStart(2, '0'));
  return Object.values(results).sort((a, b) => (place(a) < place(b) ? -1 : 1));
}

function line({ row, injected, promised, seen, figures, passed, date, load }: RowResult): string {
  const measured = Object.entries(figures).map(([name, value]) => `${name} ${value}`);
  const cells = [
    row,
    injected,
    promised,
    passed ? seen : `**failed**: ${seen}`,
    [...measured, `load ${load}`, date].join('; '),
  ];
  return tableLine(cells);
}

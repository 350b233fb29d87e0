/**
 * npm run lab -- simulation scaling: Lehr's scaling beside KEDA's queue length and static fleets. With --write the table and the plot go into
 * docs/scaling.md. With --starts, real starts of a worker are measured instead.
 */
import { compare } from './compare.ts';
import { writePage, writeSection } from './page.ts';
import { measureStarts } from './starts.ts';

const { starts: isStarts, write } = JSON.parse(process.argv[2]) as { starts: boolean; write: boolean };
const say = (text: string): void => void process.stdout.write(`${text}\n`);
if (isStarts) {
  const text = await measureStarts();
  say(text);
  if (write) await writeSection('starts', text);
} else {
  const results = compare();
  for (const { curve, startS, rows } of results) {
    say(`\n${curve.name}, starts of ${startS} s`);
    for (const { name, cost, p95S, starts } of rows) {
      say(`  ${name.padEnd(28)} ${cost.toFixed(2).padStart(7)} ${p95S.toFixed(1).padStart(8)} s ${starts}`);
    }
  }
  if (write) await writePage(results);
}
process.exit(0);

/**
 * The suite `bench`: runs the files *.bench.ts of this folder one after the other, prints one table, and makes the report. Benches that
 * write a table of a page by themselves get --write.
 */
import { loadavg } from 'node:os';
import { runCommand } from '../../infra/local/command.mjs';
import { ensureBuilt, fromSource } from '../../infra/local/modules.mjs';
import { Problem } from '../../infra/local/problem.mjs';
import { ensureServices } from '../../infra/local/programs.mjs';
import '../../infra/local/typescript.mjs';
import { benches } from '../names.mjs';

const report = await import('./report/make.ts');

/** Resolves to the exit code. */
export async function run({ names, quick: isQuick, readme, write, page, say, signal }) {
  const wanted = readme ? [...names, ...report.README_BENCHES] : names;
  const broken = [];
  if (!page) {
    await ensureServices({ say, signal });
    // The whole stack is measured as it ships.
    await ensureBuilt({ signal });
    const chosen = benches().filter((name) => wanted.length === 0 || wanted.includes(name));
    broken.push(...(await runAll(chosen, { isQuick, write, say, signal })));
  }
  const made = report.makeReport({ isQuick, writes: write || readme });
  console.log(`\n${made.summary}\n`);
  say(`The report: file://${made.report}`);
  if (broken.length > 0) throw new Problem(`These ended with an error: ${broken.join(', ')}.`);
  return 0;
}

/** Returns the benches that ended with an error; the results of all others are saved as soon as they are there. */
async function runAll(names, { isQuick, write, say, signal }) {
  const broken = [];
  const measured = [];
  for (const [i, name] of names.entries()) {
    say(`--- ${name} (${i + 1} of ${names.length}${report.lastDuration(name)})`);
    const [before] = loadavg();
    const startedAt = performance.now();
    const [rows, charts] = [[], []];
    const onMessage = ({ begins, at, of, row, chart }) => {
      if (chart) charts.push(chart);
      if (begins) say(`    ${at} of ${of}: ${begins}`);
      if (!row) return;
      rows.push(row);
      measured.push(row);
      say(`      ${row.value.toPrecision(3)} (${row.min.toPrecision(3)} .. ${row.max.toPrecision(3)})`);
    };
    const flags = [...(isQuick ? ['--quick'] : []), ...(write ? ['--write'] : [])];
    const file = new URL(`${name}.bench.ts`, import.meta.url).pathname;
    const args = fromSource('lab/bench/run.ts', file, ...flags);
    const code = await runCommand(process.execPath, args, { signal, onMessage });
    signal.throwIfAborted();
    const seconds = (performance.now() - startedAt) / 1000;
    if (code !== 0) broken.push(name);
    // A part of a file's figures must not take the place of all of them.
    else report.save({ bench: name, rows, charts, load: [before, loadavg()[0]], seconds }, isQuick);
  }
  console.log(`\n${report.table(measured)}`);
  return broken;
}

/**
 * npm run bench [-- part of a file name ...] [--only policy,claim] [--quick] [--readme] [--write] [--page]: runs lab/bench/*.bench.ts
 * one after the other, prints one table, and makes the report. --readme: the files of the README's table, and --write. --write: the tables
 * of README and docs are made again from the results, and benches that write a table by themselves write it. --page: measures nothing.
 */
import './node-version.mjs';
import { readdir } from 'node:fs/promises';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { ROOT, runCommand } from './command.mjs';
import { readCommandLine } from './command-line.mjs';
import { runMain, say, signal } from './lifecycle.mjs';
import { ensureBuilt, ensureModules, fromSource } from './modules.mjs';
import { Problem } from './problem.mjs';
import { ensureServices } from './programs.mjs';

const FOLDER = join(ROOT, 'lab/bench');
const OPTIONS = {
  only: { type: 'string', multiple: true, default: [] },
  quick: { type: 'boolean', default: false },
  readme: { type: 'boolean', default: false },
  write: { type: 'boolean', default: false },
  page: { type: 'boolean', default: false },
};

runMain(main);

async function main() {
  const { values, positionals } = await readCommandLine({ options: OPTIONS, help });
  await ensureModules({ signal });
  await import('./typescript.mjs');
  const bench = await import('../../lab/bench/report/make.ts');
  const broken = [];
  if (!values.page) {
    await ensureServices({ say, signal });
    // The whole stack is measured as it ships.
    await ensureBuilt({ signal });
    const only = values.only.flatMap((part) => part.split(','));
    const files = await benchFiles([...positionals, ...only, ...(values.readme ? bench.README_BENCHES : [])]);
    broken.push(...(await runAll(files, values, bench)));
  }
  const { report, summary } = bench.makeReport({
    isQuick: values.quick,
    writes: values.write || values.readme,
  });
  console.log(`\n${summary}\n`);
  say(`The report: file://${report}`);
  if (broken.length > 0) throw new Problem(`These ended with an error: ${broken.join(', ')}.`);
  process.exit(0);
}

/** Returns the files that ended with an error; the results of all others are saved as soon as they are there. */
async function runAll(files, { quick: isQuick, write }, bench) {
  const broken = [];
  const measured = [];
  for (const [i, file] of files.entries()) {
    const name = file.replace('.bench.ts', '');
    say(`--- ${file} (${i + 1} of ${files.length}${bench.lastDuration(name)})`);
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
    const args = fromSource('lab/bench/run.ts', join(FOLDER, file), ...flags);
    const code = await runCommand(process.execPath, args, { signal, onMessage });
    signal.throwIfAborted();
    const seconds = (performance.now() - startedAt) / 1000;
    if (code !== 0) broken.push(file);
    // A part of a file's figures must not take the place of all of them.
    else bench.save({ bench: name, rows, charts, load: [before, loadavg()[0]], seconds }, isQuick);
  }
  console.log(`\n${bench.table(measured)}`);
  return broken;
}

async function allBenchFiles() {
  return (await readdir(FOLDER)).filter((name) => name.endsWith('.bench.ts')).sort();
}

async function benchFiles(filters) {
  const files = await allBenchFiles();
  const chosen = files.filter((name) => filters.length === 0 || filters.some((part) => name.includes(part)));
  if (chosen.length > 0) return chosen;
  throw new Problem(`No bench file has this name. The files are: ${files.join(', ') || 'none yet'}.`);
}

async function help() {
  const names = (await allBenchFiles()).map((file) => file.replace('.bench.ts', ''));
  return `Usage: npm run bench [-- PART ... --only PART,PART --quick --readme --write --page]

Runs the benches whose file names have one of the parts, one after the other (all of them without a part), and prints one table of ratios.

Benches:
${names.map((name) => `  ${name}`).join('\n')}

Options:
  --only PARTS  the same as parts, separated by commas
  --quick       fewer rounds; nothing of it is kept as a result
  --readme      the benches of the README's table; writes as --write does
  --write       makes the tables of README and docs again from the results
  --page        measures nothing, and makes the report again
  --help        prints this
`;
}

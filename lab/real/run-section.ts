/** Runs the comparisons of a section, one after the other, and keeps the result of each as soon as it is there. */
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { load, machineName, readResult, today, writeResult } from '../results.ts';
import { ensureEnvironment, openPython } from './python.ts';
import type { Bench, Comparison, ComparisonResult, Section, SectionResults } from './section.ts';

export interface RunOptions {
  /** The section's name. */
  readonly name: string;
  /** Folder for environments, models and what is already done on this machine. */
  readonly cache: string;
  /** Folder of the results that are committed. */
  readonly results: string;
  /** Repeats what is done already. */
  readonly again: boolean;
  /** Part of the names of the comparisons to run. */
  readonly only?: string;
  readonly say: (text: string) => void;
}

/** Returns the names of the comparisons that threw. */
export async function runSection(section: Section, options: RunOptions): Promise<string[]> {
  const { name, cache, again, only, say } = options;
  const done = join(cache, 'done', `${name}.json`);
  const finished = new Set(again ? [] : finishedIn(done));
  const chosen = section.comparisons.filter((each) => only === undefined || each.name.includes(only));
  const open = chosen.filter((each) => !finished.has(each.name));
  for (const each of chosen) if (finished.has(each.name)) say(`${name}/${each.name}: done earlier`);
  if (open.length > 0) {
    for (const environment of section.environments) await ensureEnvironment(cache, environment, say);
  }
  const broken: string[] = [];
  for (const [i, comparison] of open.entries()) {
    say(`${name}/${comparison.name} (${i + 1} of ${open.length}): ${comparison.title}`);
    try {
      const result = await runOne(comparison, benchOf(section, options));
      await keep(section, options, result);
      writeResult(done, { finished: [...new Set([...finishedIn(done), comparison.name])] });
      for (const row of result.rows)
        say(`    ${row.what}: ${row.figure}${row.met === false ? ' (missed)' : ''}`);
    } catch (error) {
      broken.push(`${name}/${comparison.name}`);
      say(`    failed: ${error instanceof Error ? error.stack : error}`);
    }
  }
  return broken;
}

function benchOf({ environments }: Section, { name, cache, say }: RunOptions): Bench {
  return {
    cache: join(cache, name),
    say: (text) => say(`    ${text}`),
    openPython: async (script, { environment = environments[0]?.name, ...options } = {}) => {
      if (environment === undefined) throw new Error(`The section ${name} has no environment of Python.`);
      return openPython(join(cache, environment), script, options);
    },
  };
}

async function runOne({ name, title, run }: Comparison, bench: Bench): Promise<ComparisonResult> {
  await mkdir(bench.cache, { recursive: true });
  const before = load();
  const startedAt = performance.now();
  const rows = await run(bench);
  const seconds = Math.round((performance.now() - startedAt) / 1000);
  return { name, title, date: today(), machine: machineName(), load: [before, load()], seconds, rows };
}

/** Puts the result in place of the earlier one of this name; results of other comparisons stay. */
async function keep(
  section: Section,
  { name, results }: RunOptions,
  result: ComparisonResult,
): Promise<void> {
  const file = join(results, `${name}.json`);
  const kept = readResult<SectionResults>(file);
  const all = new Map(kept?.comparisons.map((each) => [each.name, each]));
  all.set(result.name, result);
  const { title, about, comparisons } = section;
  const versions = (await Promise.all(section.environments.map(versionsOf))).flat();
  const inOrder = comparisons.flatMap((each) => all.get(each.name) ?? []);
  writeResult(file, { title, about, versions: [...new Set(versions)], comparisons: inOrder });
}

const ROOT = new URL('../../', import.meta.url).pathname;
async function versionsOf({ requirements }: { requirements: string }): Promise<string[]> {
  const lines = (await readFile(join(ROOT, requirements), 'utf8')).split('\n');
  return lines.map((line) => line.trim()).filter((line) => line.includes('=='));
}

const finishedIn = (file: string): readonly string[] =>
  readResult<{ finished: string[] }>(file)?.finished ?? [];

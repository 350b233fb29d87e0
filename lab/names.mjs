/** What the suites can run, read from the tree, because their sources need the modules of npm. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const pathOf = (...parts) => join(import.meta.dirname, ...parts);

export const benches = () => filesOf('bench', '.bench.ts');
export const faults = () => filesOf('chaos', '.test.ts');

function filesOf(suite, ending) {
  const files = readdirSync(pathOf(suite)).filter((file) => file.endsWith(ending));
  return files.map((file) => file.replace(ending, '')).sort();
}

/** Of `real` or `peers`. */
export function sections(suite) {
  return readdirSync(pathOf(suite))
    .filter((name) => existsSync(pathOf(suite, name, 'section.ts')))
    .sort();
}

/** The comparisons of a section that have results, each with its title; none of another suite. */
export function comparisonsOf(suite, section) {
  const file = pathOf(suite, 'results', `${section}.json`);
  const { comparisons = [] } = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {};
  return comparisons.map(({ name, title }) => `${name}: ${title}`);
}

/** What the suites share: where and when something was measured, results as JSON files, and the parts of a page that are made from them. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { dirname, join } from 'node:path';

/** YYYY-MM-DD. */
export const today = (): string => new Date().toISOString().slice(0, 10);

/** Without its load. */
export function machineName(): string {
  const [{ model }] = cpus();
  return `${model.trim()}, ${cpus().length} cores, ${process.platform} ${process.arch}, Node ${process.versions.node}`;
}

/** Processes that wanted to run, on average of the last minute. */
export const load = (): number => Math.round(loadavg()[0] * 10) / 10;

/** Undefined when there is no such file. */
export function readResult<T>(file: string): T | undefined {
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as T) : undefined;
}

/** By the names of their files without `.json`, in this order. */
export function readResults<T>(folder: string): Map<string, T> {
  const files = existsSync(folder) ? readdirSync(folder).filter((file) => file.endsWith('.json')) : [];
  const read = (file: string): T => JSON.parse(readFileSync(join(folder, file), 'utf8')) as T;
  return new Map(files.sort().map((file) => [file.slice(0, -'.json'.length), read(file)]));
}

export function writeResult(file: string, result: unknown): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify(result, null, 2)}\n`);
}

/** The page with its part between the two comments of this name replaced. */
export function withPart(page: string, name: string, text: string): string {
  const [begin, end] = [`<!-- ${name}: begin -->\n`, `<!-- ${name}: end -->`];
  const [from, to] = [page.indexOf(begin), page.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`The page has no part "${name}".`);
  return `${page.slice(0, from + begin.length)}${text}${page.slice(to)}`;
}

/** A line of a table. */
export const tableLine = (cells: readonly string[]): string =>
  `| ${cells.map((cell) => cell.replaceAll('|', '\\|').replaceAll(/\s+/g, ' ')).join(' | ')} |`;

/** What a run saw, one file for each scene, which the page is made of. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The work folder, in which the engine keeps its own. */
export const WORK = dirname(process.env.DOCKER_CONFIG ?? '.');

export interface Result {
  readonly place: number;
  readonly name: string;
  readonly sentence: string;
  readonly seconds: number;
  /** What was seen, or why the scene failed. */
  readonly seen: string;
  readonly passed: boolean;
  readonly commit: string;
  /** Jobs that were judged, and their attempts beyond the first. */
  readonly jobs: number;
  readonly repeated: number;
}

export function keep(name: string, result: unknown): void {
  const folder = process.env.LAB_RESULTS ?? '';
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, `${name}.json`), JSON.stringify(result, null, 2));
}

export const readResults = (folder: string): Map<string, unknown> =>
  new Map(
    readdirSync(folder).map((name) => [
      name.replace('.json', ''),
      JSON.parse(readFileSync(join(folder, name), 'utf8')),
    ]),
  );

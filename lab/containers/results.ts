/** What a run saw, one file for each scene, which the page is made of. */
import { dirname, join } from 'node:path';
import { writeResult } from '../results.ts';

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

export const keep = (name: string, result: unknown): void =>
  writeResult(join(process.env.LAB_RESULTS ?? '', `${name}.json`), result);

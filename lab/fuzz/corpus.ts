/** Requests that once showed a fault. Each is sent again, so that the fault does not come back. */
import { readdir, readFile } from 'node:fs/promises';
import type { FuzzRequest } from './request.ts';

export interface CorpusEntry {
  /** The name of its file. */
  readonly name: string;
  /** What it did. */
  readonly fault: string;
  readonly batch: readonly FuzzRequest[];
  /** How many copies of the batch are sent at once; default 1. */
  readonly copies?: number;
  /** How often they are sent; default 1. */
  readonly times?: number;
}

const FOLDER = new URL('./corpus/', import.meta.url);

export async function readCorpus(): Promise<CorpusEntry[]> {
  const names = (await readdir(FOLDER)).filter((name) => name.endsWith('.json')).sort();
  return Promise.all(
    names.map(async (name) => ({
      ...(JSON.parse(await readFile(new URL(name, FOLDER), 'utf8')) as Omit<CorpusEntry, 'name'>),
      name,
    })),
  );
}

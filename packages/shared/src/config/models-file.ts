/** Reads models.yaml. */
import { readFile, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { fromModelsFile } from '../models/cache/version-folder.ts';
import { parseRegistry, type Registry } from '../models/registry.ts';
import { readFamily } from './read-family.ts';

export interface ModelsFile {
  /** Absolute. */
  readonly path: string;
  /** What the file says. */
  readonly text: string;
  readonly registry: Registry;
}

/** Throws the error of the file system, or `invalid-request` with every fault of the text. */
export async function readModelsFile(path: string): Promise<ModelsFile> {
  const { text, changedAtS } = await readModelsText(path);
  return { path, text, registry: parseModels(path, text, changedAtS) };
}

/** The text, and when it last changed in Unix seconds. */
export async function readModelsText(path: string): Promise<{ text: string; changedAtS: number }> {
  const [text, { mtimeMs }] = await Promise.all([readFile(path, 'utf8'), stat(path)]);
  return { text, changedAtS: Math.floor(mtimeMs / 1000) };
}

/** Relative folders in the text start from the folder of `path`. */
export const parseModels = (path: string, text: string, changedAtS: number): Registry =>
  parseRegistry(text, (folder) => readFamily(fromModelsFile(dirname(path), folder)), changedAtS);

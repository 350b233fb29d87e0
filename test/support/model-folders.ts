/** The files of a tiny model as a source would hold them. */
import { readdir, readFile } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { writeTinyDiffusion } from '../../packages/demo-models/src/index.ts';
import type { HubFile } from './hub-server.ts';
import { tempFolder } from './tiny-models.ts';

/** A model of random weights, by path; graphs are large files of the hub. */
export async function tinyModelFiles(): Promise<Map<string, HubFile>> {
  const folder = await tempFolder('tiny-source');
  await writeTinyDiffusion(folder, { seed: 5, timestepType: 'float32' });
  return readFiles(folder);
}

export async function readFiles(folder: string): Promise<Map<string, HubFile>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));
  return new Map(
    await Promise.all(
      files.sort().map(async (file): Promise<[string, HubFile]> => {
        const path = relative(folder, file).split(sep).join('/');
        return [path, { bytes: await readFile(file), isLarge: path.endsWith('.onnx') }];
      }),
    ),
  );
}

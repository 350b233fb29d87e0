/** The adapters and ControlNets of a model, as far as their files say it: whether they fit the model is known when it is opened. */
import { existsSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type ModelEntry, toPlainError } from '@lehr/shared';
import { type ModelPlaces, partFiles, versionFolder } from '@lehr/shared/model-cache';
import { readUnetConfig } from '../../engine/models/adapters/check-adapter.ts';
import { readAdapter } from '../../engine/models/adapters/read-adapter.ts';
import type { ListedPart } from './tool-event.ts';

export async function listParts(model: ModelEntry, places: ModelPlaces): Promise<ListedPart[]> {
  const { adapters, controls } = partFiles(model, places);
  if (adapters.length === 0 && controls.length === 0) return [];
  const folder = versionFolder(model.versions[0], places);
  // A config that cannot be read is a problem of the model.
  const { layersPerBlock } = await readUnetConfig(folder).catch(() => ({ layersPerBlock: 2 }));
  const parts = [
    ...adapters.map(async ({ name, path }) => {
      return { kind: 'adapter' as const, name, path, ...(await adapterState(path, layersPerBlock)) };
    }),
    ...controls.map(async ({ name, folder: path }) => {
      return { kind: 'control' as const, name, path, ...(await controlState(path)) };
    }),
  ];
  return (await Promise.all(parts)).map((part) => ({ ...part, model: model.name }));
}

type State = Pick<ListedPart, 'state' | 'bytes' | 'rank' | 'problem'>;
const MISSING = { state: 'missing', bytes: 0 } as const;

async function adapterState(path: string, layersPerBlock: number): Promise<State> {
  if (!existsSync(path)) return MISSING;
  const { size: bytes } = await stat(path);
  try {
    const { rank, close } = readAdapter(path, layersPerBlock);
    close();
    return { state: 'ready', bytes, rank };
  } catch (error) {
    return { state: 'unusable', bytes, problem: toPlainError(error).message };
  }
}

const NEEDED = ['model.onnx', 'config.json'];

async function controlState(folder: string): Promise<State> {
  if (!existsSync(folder)) return MISSING;
  const info = await stat(folder);
  if (!info.isDirectory()) return { state: 'unusable', bytes: info.size, problem: 'It is not a folder.' };
  const names = await readdir(folder, { recursive: true });
  const infos = await Promise.all(names.map((name) => stat(join(folder, name))));
  const bytes = infos.reduce((sum, each) => sum + (each.isFile() ? each.size : 0), 0);
  const lacking = NEEDED.filter((name) => !names.includes(name));
  if (lacking.length === 0) return { state: 'ready', bytes };
  return { state: 'unusable', bytes, problem: `It has no ${lacking.join(' and no ')}.` };
}

/** Reads models.yaml. */
import { existsSync, readFileSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type DetectedFamily, detectFamily } from '../contracts/diffusion-family.ts';
import { fromModelsFile } from '../models/cache/fetch-model.ts';
import { parseRegistry, type Registry } from '../models/registry.ts';

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

/**
 * Reads the family of a model from the configs in its folder, where this process can see the folder: an API may run without.
 * Undefined when the folder is not there, or is no diffusers folder; the worker then says why it cannot be opened.
 */
export function readFamily(folder: string): DetectedFamily | undefined {
  const index = readJson(join(folder, 'model_index.json'));
  if (!index) return undefined;
  return detectFamily({
    index,
    scheduler: readJson(join(folder, 'scheduler/scheduler_config.json')) ?? {},
    unet: readJson(join(folder, 'unet/config.json')) ?? {},
    vae: readJson(join(folder, 'vae_decoder/config.json')) ?? {},
    hasVaeEncoder: existsSync(join(folder, 'vae_encoder/model.onnx')),
  });
}

function readJson(path: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(path, 'utf8'));
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

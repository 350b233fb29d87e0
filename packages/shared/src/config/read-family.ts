/** Reads the family of a model from the configs in its folder, where this process can see the folder: an API may run without. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type DetectedFamily, detectFamily } from '../contracts/diffusion-family.ts';

/** Undefined when the folder is not there, or is no diffusers folder; the worker then says why it cannot be opened. */
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

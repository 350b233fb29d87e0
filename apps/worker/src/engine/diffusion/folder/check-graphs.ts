/** Finds graphs that a folder lacks, and says how to export them, before anything is loaded. */
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { LehrError } from '@lehr/shared';

/** Throws LehrError `model-unavailable` that names every missing graph. */
export async function checkGraphs(folder: string, graphs: readonly string[]): Promise<void> {
  const missing = graphs.filter((graph) => !existsSync(join(folder, graph, 'model.onnx')));
  if (missing.length === 0) return;
  const names = missing.map((graph) => `${graph}/model.onnx`).join(', ');
  throw new LehrError('model-unavailable', `${folder} has no ${names}. ${await adviceFor(folder, missing)}`);
}

async function adviceFor(folder: string, missing: readonly string[]): Promise<string> {
  const variant = await variantIn(join(folder, missing[0]));
  if (variant !== undefined) {
    const pull = `lehr models pull ${JSON.stringify(folder)} --variant ${variant}`;
    return `It holds the variant "${variant}"; give its graphs the plain names: ${pull}.`;
  }
  // torch's folders hold one VAE, which becomes two graphs.
  const sources = missing.map((graph) => (graph.startsWith('vae_') ? 'vae' : graph));
  const names = await Promise.all(sources.map((source) => readdir(join(folder, source)).catch(() => [])));
  const isTorch = names.flat().some((name) => /\.(safetensors|bin)$/.test(name));
  const command = 'optimum-cli export onnx --model <folder or name> <new folder>';
  return isTorch
    ? `It holds weights for torch; export it first: ${command}.`
    : `Export the model again: ${command}.`;
}

/** Of a graph such as `model.fp16.onnx` or `model_fp16.onnx`, which `lehr models pull` saves under its plain name. */
async function variantIn(graphFolder: string): Promise<string | undefined> {
  const names = await readdir(graphFolder).catch(() => []);
  return names
    .map((name) => /^model[._]([\w-]+)\.onnx$/.exec(name)?.[1])
    .find((variant) => variant !== undefined);
}

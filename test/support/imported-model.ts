/** Models that are imported into folders of their own, and files of weights that tests make of others. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  filesOfModel,
  importFolder,
  valuesIn,
} from '../../apps/worker/src/engine/models/imported/import-folder.ts';
import { planImport } from '../../apps/worker/src/engine/models/imported/plan-import.ts';
import { openWeightsFile } from '../../apps/worker/src/engine/models/weights/weights-file.ts';
import {
  memorySource,
  readSafetensors,
  type SafeTensor,
  safetensorsHeader,
} from '../../packages/onnx-model/src/index.ts';
import type { Task } from '../../packages/shared/src/index.ts';
import { tempFolder } from './tiny-models.ts';

/** As `lehr models import` does it, without models.yaml. */
export async function imported(
  folder: string,
  path: string,
  {
    task = 'diffusion',
    onProgress = () => {},
  }: { readonly task?: Task; readonly onProgress?: (doneBytes: number) => void } = {},
) {
  const file = openWeightsFile(path);
  try {
    const base = { folder, name: 'base@1', task };
    const graphs = (await filesOfModel(folder)).filter((each) => each.endsWith('.onnx'));
    const plan = await planImport(base, graphs, file);
    const made = await tempFolder('made');
    return {
      folder: made,
      plan,
      ...(await importFolder({ base, plan, valuesOf: valuesIn(file), folder: made, onProgress })),
    };
  } finally {
    file.close();
  }
}

export interface OwnTensor extends Pick<SafeTensor, 'name' | 'dtype' | 'shape'> {
  readonly bytes: Buffer;
}

export async function readTensors(path: string): Promise<OwnTensor[]> {
  const file = await readFile(path);
  return [...readSafetensors(memorySource(file)).tensors.values()].map(({ offset, length, ...tensor }) => ({
    ...tensor,
    bytes: file.subarray(offset, offset + length),
  }));
}

/** Returns the path of the file. */
export async function writeTensors(tensors: readonly OwnTensor[], name = 'own'): Promise<string> {
  const path = join(await tempFolder('weights'), `${name}.safetensors`);
  const values = tensors.map(({ bytes }) => bytes);
  await writeFile(path, Buffer.concat([safetensorsHeader(tensors), ...values]));
  return path;
}

/** The tensors whose names begin so, without this beginning. */
export const below = (prefix: string, tensors: readonly OwnTensor[]): OwnTensor[] =>
  tensors
    .filter(({ name }) => name.startsWith(prefix))
    .map((tensor) => ({ ...tensor, name: tensor.name.slice(prefix.length) }));

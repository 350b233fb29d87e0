/** A models.yaml with a tiny untrained model in a temporary folder. */
import { appendFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import {
  type TinyDiffusionOptions,
  writeTinyDiffusion,
  writeTinyTransform,
} from '../../packages/demo-models/src/index.ts';
import { whenDone } from './cleanup.ts';

export const TINY = { name: 'tiny', version: '1', ref: 'tiny@1', width: 64, height: 64 } as const;

export async function tempFolder(name: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), `lehr-${name}-`));
  whenDone(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** Returns the path of models.yaml. */
export async function tinyModels(options: TinyDiffusionOptions = {}): Promise<string> {
  const folder = await tempFolder('models');
  await writeTinyDiffusion(join(folder, 'tiny'), { seed: 5, timestepType: 'float32', ...options });
  const file = join(folder, 'models.yaml');
  await writeFile(
    file,
    `models:
  - name: ${TINY.name}
    task: diffusion
    default: true
    versions: [{ version: "${TINY.version}", path: tiny }]
    defaults: { width: ${TINY.width}, height: ${TINY.height}, steps: 8, guidance: 5, sampler: ddim }
    limits: { min_size: 64, max_size: 512, size_step: 8, max_pixels: 262144, max_steps: 1000, max_samples: 8 }
`,
  );
  return file;
}

/** The labels of `sorts`, in the order of its scores. */
export const SORTS = ['cat', 'dog', 'teapot'] as const;

const versionOf = (path: string): string => `versions: [{ version: "1", path: ${path} }]`;

/** Adds models that transform pictures to a models.yaml: `sharp` doubles them, `marks` gives masks, `sorts` labels. */
export async function addTransformModels(file: string): Promise<void> {
  const folder = dirname(file);
  await writeTinyTransform(join(folder, 'sharp'), { result: 'picture', scale: 2 });
  await writeTinyTransform(join(folder, 'marks'), { result: 'mask' });
  await writeTinyTransform(join(folder, 'sorts'), { result: 'class', labels: [...SORTS] });
  await appendFile(
    file,
    `  - { name: sharp, task: transform, result: picture, scale: 2, ${versionOf('sharp')} }
  - { name: marks, task: transform, result: mask, ${versionOf('marks')} }
  - { name: sorts, task: transform, result: class, ${versionOf('sorts')} }
`,
  );
}

/** Adds a model that draws as the tiny one does, and whose pictures `sorts` always finds unsafe, unless `safety` says more. */
export function addCheckedModel(file: string, safety: object): Promise<void> {
  const rule = JSON.stringify({ model: 'sorts', labels: SORTS, threshold: 0.01, ...safety });
  return appendFile(
    file,
    `  - name: checked
    task: diffusion
    ${versionOf('tiny')}
    defaults: { width: ${TINY.width}, height: ${TINY.height}, steps: 2, guidance: 1, sampler: ddim }
    limits: { min_size: 64, max_size: 512, size_step: 8, max_pixels: 262144, max_steps: 1000, max_samples: 8 }
    safety: ${rule}
`,
  );
}

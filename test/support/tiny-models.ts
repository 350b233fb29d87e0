/** A models.yaml with a tiny untrained model in a temporary folder. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TinyDiffusionOptions, writeTinyDiffusion } from '../../packages/demo-models/src/index.ts';
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

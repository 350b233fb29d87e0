/** A models.yaml with the trained demo Whisper (`ears`) and a tiny untrained diffusion model with a VAE encoder (`brush`). */
import { writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { writeTinyDiffusion } from '../../packages/demo-models/src/index.ts';
import { tempFolder } from './tiny-models.ts';

const DEMO_WHISPER = fileURLToPath(
  new URL('../../packages/demo-models/models/demo-whisper', import.meta.url),
);

/** Seconds of audio a job may have. */
export const MAX_AUDIO_S = 1800;

/** Returns the path of models.yaml. With `canary`, `brush` also has a version 2, which no job gets without a rollout. */
export async function speechModels({ canary = false } = {}): Promise<string> {
  const folder = await tempFolder('models');
  await writeTinyDiffusion(join(folder, 'brush'), { seed: 5, timestepType: 'float32', vaeEncoder: true });
  const file = join(folder, 'models.yaml');
  await writeFile(
    file,
    `models:
  - name: brush
    task: diffusion
    versions: [{ version: "1", path: brush }${canary ? ', { version: "2", path: brush, weight: 0 }' : ''}]
    defaults: { width: 64, height: 64, steps: 8, guidance: 5, sampler: ddim }
    limits: { min_size: 64, max_size: 512, size_step: 8, max_pixels: 262144, max_steps: 1000, max_samples: 8 }
  - name: ears
    task: whisper
    versions: [{ version: "1", path: ${relative(dirname(file), DEMO_WHISPER)} }]
    limits: { max_audio_s: ${MAX_AUDIO_S} }
`,
  );
  return file;
}

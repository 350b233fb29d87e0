/** Which models are offered when LEHR_MODELS names none. */
import { access, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { demoModelsFile, writeTinyDiffusion } from '@lehr/demo-models';

const TINY = `models:
  - name: tiny
    task: diffusion
    default: true
    versions: [{ version: "1", path: tiny }]
    defaults: { width: 256, height: 256, steps: 8, guidance: 5, sampler: ddim }
    limits: { max_size: 512, max_pixels: 262144 }
`;

/**
 * Path of the models.yaml to use: that of the demo models that ship with Lehr, or in a copy without their weights that of
 * an untrained model, made under `home`, whose pictures are noise but go the same way.
 */
export async function defaultModels({ home, say }) {
  const shipped = demoModelsFile();
  if (await exists(shipped)) return shipped;
  say('This copy has no trained demo model; an untrained one stands in, whose pictures are noise.');
  const folder = join(home, 'tiny-models');
  await mkdir(folder, { recursive: true });
  await writeTinyDiffusion(join(folder, 'tiny'), { timestepType: 'float32' });
  const file = join(folder, 'models.yaml');
  await writeFile(file, TINY);
  return file;
}

const exists = (path) =>
  access(path).then(
    () => true,
    () => false,
  );

/** Chooses the models to offer when LEHR_MODELS is not set. */
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
 * The path of the models.yaml to use: the one under `home`, else that of the demo models that ship with Lehr. A copy without their weights gets an
 * untrained model, created under `home`: its pictures are noise, but its jobs run in the same way.
 */
export async function defaultModels({ home, say }) {
  const own = join(home, 'models.yaml');
  if (await exists(own)) return own;
  const shipped = demoModelsFile();
  if (await exists(shipped)) return shipped;
  say('This copy has no trained demo model; it uses an untrained one, whose pictures are noise.');
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

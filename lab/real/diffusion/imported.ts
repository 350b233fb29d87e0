/** A checkpoint in one file, imported into the graphs of its base, beside diffusers, which reads the same file. */
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import {
  filesOfModel,
  importFolder,
  valuesIn,
} from '../../../apps/worker/src/engine/models/imported/import-folder.ts';
import { planImport } from '../../../apps/worker/src/engine/models/imported/plan-import.ts';
import { openWeightsFile } from '../../../apps/worker/src/engine/models/weights/weights-file.ts';
import type { DiffusersCase } from '../../../test/support/diffusion-fixtures.ts';
import type { Bench, Comparison, Row } from '../section.ts';
import { drawWithLehr } from './draw-lehr.ts';
import { drawWith, once, withEncoder } from './full-size.ts';
import { aloneRow, differences } from './parity.ts';

const CASES: readonly DiffusersCase[] = (['euler', 'ddim'] as const).map((sampler, index) => ({
  name: `imported-${sampler}`,
  prompt: 'a red circle',
  negative_prompt: 'blue, blurred',
  sampler,
  steps: 4,
  guidance: 5,
  seed: index,
  width: 256,
  height: 256,
}));

export const imports: readonly Comparison[] = [
  ['sd15', 'imported', 'A file of another checkpoint, imported: Stable Diffusion 1.5 at full width'],
  ['sdxl', 'xl-imported', 'The same for SDXL at three tenths of its width'],
].map(([pipeline, name, title]) => ({ name, title, run: (bench) => compare(bench, pipeline) }));

async function compare(bench: Bench, name: string): Promise<readonly Row[]> {
  const folder = await withEncoder(bench, name);
  const request = { do: 'make-checkpoint', name, folder };
  await once(join(folder, 'checkpoint'), 'writing a checkpoint', request, bench);
  const theirs = await drawWith(bench, folder, 'checkpoint', CASES);
  bench.say('Lehr imports the file, and draws with what it has made of it');
  const before = process.cpuUsage();
  await importInto(folder);
  const { user, system } = process.cpuUsage(before);
  const ours = await drawWithLehr(folder, CASES, { graphs: 'imported' });
  await rm(join(folder, 'imported'), { recursive: true });
  const rows: Row[] = [{ what: 'Importing the file: CPU time', figure: (user + system) / 1e6, unit: 's' }];
  for (const each of CASES) {
    const title = `256x256, 4 steps of ${each.sampler}, guidance 5 with a negative prompt`;
    rows.push(...differences(title, await ours(each), await theirs(each)));
  }
  const last = CASES[CASES.length - 1];
  return [...rows, await aloneRow('The last one', last, ours)];
}

/** As `lehr models import` does it, without models.yaml. */
async function importInto(folder: string): Promise<void> {
  const base = { folder: join(folder, 'onnx'), name: 'base@1', task: 'diffusion' } as const;
  const target = join(folder, 'imported');
  await rm(target, { recursive: true, force: true });
  await mkdir(target);
  const file = openWeightsFile(join(folder, 'checkpoint/whole.safetensors'));
  try {
    const graphs = (await filesOfModel(base.folder)).filter((each) => each.endsWith('.onnx'));
    const plan = await planImport(base, graphs, file);
    await importFolder({ base, plan, valuesOf: valuesIn(file), folder: target, onProgress: () => {} });
  } finally {
    file.close();
  }
}

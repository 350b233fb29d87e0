/** Versions that have adapters in their weights draw what diffusers draws with these adapters. */
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openDiffusionModel } from '../../apps/worker/src/engine/diffusion/folder/diffusion-folder.ts';
import { readAdapter } from '../../apps/worker/src/engine/models/adapters/read-adapter.ts';
import { filesOfModel, importFolder } from '../../apps/worker/src/engine/models/imported/import-folder.ts';
import { planMerge } from '../../apps/worker/src/engine/models/imported/merge-adapters.ts';
import { keptGraph } from '../../apps/worker/src/engine/models/imported/plan-import.ts';
import { onnxRuntime } from '../../apps/worker/src/engine/runtime/onnx.ts';
import { casesOf, denoise, expectedPicture, sampleOf, unpackFixture } from '../support/diffusion-fixtures.ts';
import { tempFolder } from '../support/tiny-models.ts';

type Uses = readonly { readonly name: string; readonly scale: number }[];

async function merged(fixture: string, uses: Uses): Promise<string> {
  const base = await tempFolder('base');
  unpackFixture(fixture, base);
  const adapters = uses.map(({ name, scale }) => {
    const file = name === 'peft' ? 'peft/adapter_model' : name;
    return { ...readAdapter(join(base, `adapters/${file}.safetensors`), 2), name, scale };
  });
  const graphs = (await filesOfModel(base)).filter((each) => each.endsWith('.onnx'));
  const plan = planMerge(
    graphs.map((graph) => keptGraph(base, graph)),
    adapters,
    'base@1',
  );
  const folder = await tempFolder('merged');
  const of = { folder: base, name: 'base@1', task: 'diffusion' as const };
  await importFolder({ base: of, plan, valuesOf: plan.valuesOf, folder, onProgress: () => {} });
  for (const { close } of adapters) close();
  return folder;
}

const CASES = ['sd15-adapters', 'sdxl-adapters'].flatMap((fixture) =>
  casesOf(fixture)
    .filter(({ image }) => image === undefined)
    .map((each) => [fixture, each.name, each] as const),
);
const isShort = ([fixture, name]: (typeof CASES)[number]) =>
  fixture === 'sd15-adapters' && ['two', 'peft'].includes(name);
const NAME = '%s/%s is drawn by a version with its adapters in the weights';

test.each(CASES.filter(isShort))(NAME, { timeout: 60_000 }, (fixture, _, each) => compare(fixture, each));

test.each(CASES.filter((each) => !isShort(each)))(
  NAME,
  { timeout: 60_000, tags: ['long'] },
  (fixture, _, each) => compare(fixture, each),
);

async function compare(fixture: string, each: (typeof CASES)[number][2]): Promise<void> {
  const { adapters = [], ...plain } = each;
  const model = await openDiffusionModel(await merged(fixture, adapters), onnxRuntime, {
    providers: ['cpu'],
  });
  onTestFinished(() => model.close());
  const sample = await sampleOf(model, plain);
  await denoise(model, [sample]);
  const drawn = sample.denoising.latent;
  const expected = await expectedPicture(fixture, each);
  const size = Math.max(...expected.latent.map(Math.abs));
  const difference = Math.max(...expected.latent.map((value, i) => Math.abs(value - drawn[i])));
  expect(difference / size).toBeLessThan(1e-3);
}

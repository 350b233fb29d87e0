/**
 * ControlNets of diffusers as torch's exporters write them guide the pictures that diffusers draws with them: alone, two at once, in windows of
 * the steps, from a picture with a mask, and with LoRAs. Rows with and without them share the calls of the UNet.
 */
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import {
  type DiffusionModel,
  openDiffusionModel,
} from '../../apps/worker/src/engine/diffusion/folder/diffusion-folder.ts';
import { onnxRuntime } from '../../apps/worker/src/engine/runtime/onnx.ts';
import {
  casesOf,
  type DiffusersCase,
  denoise,
  expectedPicture,
  relativeDistance,
  sampleOf,
  unpackFixture,
} from '../support/diffusion-fixtures.ts';

const OPENING_MS = 600_000;
const CPU = { providers: ['cpu'], threads: 1 } as const;

/** Of their fixtures, which those of ControlNets are based on. */
const LORAS = ['kohya', 'plain'];

async function open(fixtures: readonly string[], names: readonly string[]) {
  const folder = await mkdtemp(join(tmpdir(), 'lehr-control-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  for (const fixture of fixtures) unpackFixture(fixture, folder);
  const controls = names.map((name) => ({ name, folder: join(folder, 'controls', name) }));
  const loras = LORAS.map((name) => ({ name, path: join(folder, 'adapters', `${name}.safetensors`) }));
  const adapters = loras.filter(({ path }) => existsSync(path));
  const model = await openDiffusionModel(folder, onnxRuntime, { ...CPU, controls, adapters });
  onTestFinished(() => model.close());
  return { model, folder };
}

async function latentsOf(model: DiffusionModel, folder: string, cases: readonly DiffusersCase[]) {
  const samples = await Promise.all(cases.map((each) => sampleOf(model, each, folder)));
  await denoise(model, samples);
  return samples.map(({ denoising }) => denoising.latent);
}

const GUIDES = 'ControlNets guide the pictures of diffusers, beside pictures that none guides, and alone: %s';

type Case = readonly [
  exporter: string,
  fixtures: readonly string[],
  name: string,
  plainName: string,
  names: readonly string[],
  inputs: number,
];

test.each<Case>([
  ['TorchScript', ['sd15-image', 'sd15-control'], 'sd15-control', 'sd15', ['edges', 'depth'], 13],
  [
    'dynamo',
    ['sd15-image', 'sd15-control', 'sd15-dynamo-18'],
    'sd15-control',
    'sd15',
    ['edges', 'depth'],
    13,
  ],
])(GUIDES, { timeout: OPENING_MS }, (...each) => guides(each));
// The same ControlNet of SDXL guides pictures of torch in adapters-parity.test.ts.
test.each<Case>([['SDXL', ['sdxl-control'], 'sdxl-control', 'sdxl', ['edges'], 10]])(
  GUIDES,
  { timeout: OPENING_MS, tags: ['long'] },
  (...each) => guides(each),
);

async function guides([, fixtures, name, plainName, names, inputs]: Case): Promise<void> {
  const { model, folder } = await open(fixtures, names);
  expect(model.controls).toEqual(names.map((each) => ({ name: each })));
  expect(model.unet.residualInputs).toBe(inputs);
  expect(model.batching).toEqual({ mode: 'rows' });
  for (const { graph, fusion } of model.graphs)
    expect({ graph, left: fusion?.left }).toEqual({ graph, left: {} });
  const guided = casesOf(name);
  const plain = casesOf(plainName).slice(0, 2);
  const cases = [...guided, ...plain];
  const together = await latentsOf(model, folder, cases);
  expect(guided.length).toBeGreaterThan(1);
  for (const [i, each] of cases.entries()) {
    const { latent } = await expectedPicture(i < guided.length ? name : plainName, each);
    expect([each.name, relativeDistance(together[i], latent)]).toEqual([
      each.name,
      expect.toSatisfy((d) => d <= 1e-3),
    ]);
    const [alone] = await latentsOf(model, folder, [each]);
    expect(relativeDistance(together[i], alone)).toBeLessThanOrEqual(1e-5);
  }
}

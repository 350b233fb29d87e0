import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeTinyDiffusion, writeTinyTransform } from '@lehr/demo-models';
import { parseRegistry } from '@lehr/shared';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Check } from './check.ts';
import { checkModels } from './model-checks.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lehr-doctor-'));
  await writeTinyTransform(join(folder, 'sorts'), { result: 'class', labels: ['cat', 'dog'] });
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function checksOf(safety: string, sorts = 'sorts'): Promise<Check[]> {
  const registry = parseRegistry(`models:
  - { name: draws, task: diffusion, versions: [{ version: "1", path: draws }], safety: { model: sorts, ${safety} } }
  - { name: sorts, task: transform, result: class, versions: [{ version: "1", path: ${sorts} }] }
`);
  const checks: Check[] = [];
  const choice = { device: 'cpu', providers: ['cpu'], threads: undefined } as const;
  const places = { models: folder, cache: folder };
  for await (const check of checkModels(registry, places, ['diffusion'], choice)) checks.push(check);
  return checks.filter(({ name }) => name !== 'opens draws@1');
}

test('Of a worker that only draws, the classifier of the pictures is checked too, and whether it knows the unsafe labels', async () => {
  expect(await checksOf('labels: [dog], mode: refuse, threshold: 0.7')).toEqual([
    { name: 'opens sorts@1', state: 'ok', detail: expect.stringContaining('model on cpu') },
    { name: 'safety of draws', state: 'ok', detail: 'refuse; sorts@1 finds dog from 0.7' },
  ]);
  expect(await checksOf('mode: mark')).toMatchObject([
    { state: 'ok' },
    {
      name: 'safety of draws',
      state: 'fail',
      detail: 'sorts@1 does not know the label nsfw of safety.labels; its labels: cat, dog.',
      advice: expect.stringContaining('safety.labels'),
    },
  ]);
});

test('A classifier that is missing is one problem, not two', async () => {
  expect(await checksOf('mode: mark', 'nothing')).toMatchObject([{ name: 'opens sorts@1', state: 'fail' }]);
});

test('An adapter and a ControlNet that cannot be used are named with their model, which opens all the same', async () => {
  await writeTinyDiffusion(join(folder, 'tiny'), { seed: 1, timestepType: 'float32' });
  const registry = parseRegistry(`models:
  - name: tiny
    task: diffusion
    versions: [{ version: "1", path: tiny }]
    adapters: [{ name: ink, path: ink.safetensors }]
    controls: [{ name: edges, path: nowhere }]
`);
  const checks: Check[] = [];
  const choice = { device: 'cpu', providers: ['cpu'], threads: undefined } as const;
  const places = { models: folder, cache: folder };
  for await (const check of checkModels(registry, places, ['diffusion'], choice)) checks.push(check);
  expect(checks).toMatchObject([
    {
      name: 'opens tiny@1',
      state: 'warn',
      advice: expect.stringMatching(
        /^The adapter ink cannot be used: ink\.safetensors is not a file\. The ControlNet edges cannot be used: No ControlNet can guide it/,
      ),
    },
  ]);
});

import { readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect } from 'vitest';
import { writeTinyDiffusion } from '../../packages/demo-models/src/index.ts';
import { tinyModels } from '../../test/support/tiny-models.ts';
import { chaosWorld } from './chaos-world.ts';
import { expectKept, faultRow } from './fault-row.ts';
import { judge } from './invariants.ts';

const MODEL = { seed: 6, timestepType: 'float32' } as const;
const entry = (name: string): string => `  - name: ${name}
    task: diffusion
    default: ${name === 'tiny'}
    versions: [{ version: "1", path: ${name} }]
    defaults: { width: 64, height: 64, steps: 2, guidance: 5, sampler: ddim }
    limits: { min_size: 64, max_size: 512, size_step: 8, max_pixels: 262144, max_steps: 100, max_samples: 8 }
`;

faultRow(
  {
    row: 'F17',
    injected:
      'a graph of one of two models is cut in half before the worker starts, and later repaired; the folder of the other model is deleted while it serves',
    promised:
      'A model that cannot be opened keeps its own jobs waiting and no others; they run once its folder is whole.',
  },
  async () => {
    const models = await tinyModels();
    const broken = join(dirname(models), 'broken');
    await writeTinyDiffusion(broken, MODEL);
    const graph = join(broken, 'unet/model.onnx');
    const bytes = await readFile(graph);
    await writeFile(graph, bytes.subarray(0, bytes.length / 2));
    await writeFile(models, `models:\n${entry('tiny')}${entry('broken')}`);
    const world = await chaosWorld({ env: { LEHR_MODELS: models } });
    const { client, webhook } = world;
    const waiting = await client.submitMany(4, () => ({ webhook, model: 'broken' }));
    const worker = await world.shippedWorker();
    await worker.logged('model cannot be opened; the worker serves without it');
    const served = await client.submitMany(4, () => ({ webhook }));
    await client.reached(served, 'succeeded', 120_000);
    await rm(join(dirname(models), 'tiny'), { recursive: true });
    const afterwards = await client.submitMany(4, () => ({ webhook }));
    await client.reached(afterwards, 'succeeded', 120_000);
    const states = await Promise.all(waiting.map(async (id) => (await client.read(id))?.status));
    expect(states).toEqual(waiting.map(() => 'queued'));
    await writeFile(graph, bytes);
    const verdict = await judge(world);
    expectKept(verdict);
    return {
      seen: `${served.length + afterwards.length} jobs of the other model succeeded meanwhile, and the ${waiting.length} that waited after the repair`,
      figures: { 'failed jobs': verdict.accepted - verdict.succeeded },
    };
  },
);

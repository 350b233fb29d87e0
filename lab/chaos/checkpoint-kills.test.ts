/**
 * kill -9 of a worker at a random step of a picture, many times, on the demo model: how many steps are made again, and whether the
 * pictures are the same as without a kill.
 */
import { loadavg } from 'node:os';
import sharp from 'sharp';
import { expect, onTestFinished, test, vi } from 'vitest';
import { demoModelsFile } from '../../packages/demo-models/src/index.ts';
import { groupQueueName, type JobId, type TextToImageInput } from '../../packages/shared/src/index.ts';
import type { LehrProcess } from '../../test/support/lehr-process.ts';
import { Random } from '../../test/support/random.ts';
import { startRedis } from '../../test/support/redis-server.ts';
import { type WorkerWorld, workerWorld } from '../../test/support/worker-world.ts';
import { SHORT_LEASE } from './chaos-world.ts';

const KILLS = 50;
const STEPS = 50;
/** The defaults of a worker (LEHR_CHECKPOINT_STEPS and the others). */
const CHECKPOINTS = { everySteps: 5, everyMs: 10_000, bytesPerS: 8_000_000 };
const MODEL = { name: 'demo-diffusion', version: '1', width: 256, height: 256 };
const SAMPLERS = ['ddim', 'euler', 'euler_a', 'dpmpp_2m', 'dpmpp_2m_sde_karras', 'unipc'] as const;
const WAIT = { timeout: 60_000, interval: 50 };
const LIMIT = { timeout: 7_200_000 };

interface Stepped {
  readonly id: string;
  readonly step: number;
}

test(
  'After a kill -9 at any step five steps or fewer are made again on average, and the picture is the same',
  LIMIT,
  async () => {
    const redis = await startRedis();
    onTestFinished(() => redis.stop());
    const world = await workerWorld(redis.url, demoModelsFile());
    const random = new Random(20261122);
    const differing: number[] = [];
    const madeAgain: number[] = [];
    let worker = await start(world);
    for (let seed = 0; seed < KILLS; seed++) {
      const killed = worker;
      const job = await draw(world, seed);
      const killAt = 1 + random.below(STEPS - 1);
      await vi.waitFor(() => expect(lastStep(killed, job)).toBeGreaterThanOrEqual(killAt), WAIT);
      killed.signal('SIGKILL');
      await killed.exited();
      worker = await start(world);
      const picture = await pixelsOf(world, job);
      if (!picture.equals(await pixelsOf(world, await draw(world, seed)))) differing.push(seed);
      // Otherwise the kill came after the last step.
      if (((await world.records.read(job))?.attempt ?? 0) > 1) {
        const resumed = worker.lines.find((line) => line.msg === 'picture resumed' && line.job === job);
        madeAgain.push(lastStep(killed, job) - Number(resumed?.step ?? 0));
      }
      const mean = madeAgain.reduce((sum, steps) => sum + steps, 0) / madeAgain.length;
      process.stdout.write(
        `${madeAgain.length} kills before the last step, the last at ${lastStep(killed, job)}: ${madeAgain.at(-1)} steps made ` +
          `again, mean ${mean.toFixed(2)}, max ${Math.max(...madeAgain)}; ${differing.length} pictures differ; ` +
          `load ${loadavg()[0].toFixed(1)}\n`,
      );
    }
    expect(differing).toEqual([]);
    expect(madeAgain.length).toBeGreaterThan(KILLS / 2);
    expect(madeAgain.reduce((sum, steps) => sum + steps, 0) / madeAgain.length).toBeLessThanOrEqual(5);
  },
);

const start = (world: WorkerWorld): Promise<LehrProcess> =>
  world.simulated({ ...SHORT_LEASE, latency: null, rowCap: 2, checkpoints: CHECKPOINTS, logsSteps: true });

function draw(world: WorkerWorld, seed: number): Promise<JobId> {
  const { width, height } = MODEL;
  const input: Partial<TextToImageInput> = {
    prompt: 'a red circle on a blue background',
    seed,
    steps: STEPS,
    sampler: SAMPLERS[seed % SAMPLERS.length],
    width,
    height,
  };
  const queue = groupQueueName({ task: 'diffusion', model: MODEL, width, height });
  return world.draw(input, { model: `${MODEL.name}@${MODEL.version}`, queue });
}

function lastStep(worker: LehrProcess, job: JobId): number {
  const lines = worker.lines.filter(({ msg }) => msg === 'stepped');
  const stepped = lines.flatMap(({ samples }) => samples as Stepped[]);
  return stepped.filter(({ id }) => id.startsWith(`${job}.`)).at(-1)?.step ?? 0;
}

async function pixelsOf(world: WorkerWorld, job: JobId): Promise<Buffer> {
  const record = await vi.waitFor(() => world.reached(job), { timeout: 120_000 });
  if (record.state !== 'succeeded') throw new Error(`${record.state}: ${JSON.stringify(record)}`);
  const [{ key }] = record.output.images ?? [];
  return sharp(await world.readObject(key))
    .raw()
    .toBuffer();
}

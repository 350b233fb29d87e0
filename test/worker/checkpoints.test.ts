/** Pictures that a worker leaves unfinished, because it is killed or drained, continue on another one. */
import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import sharp from 'sharp';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { writeTinyDiffusion } from '../../packages/demo-models/src/index.ts';
import { type JobId, toObjectKey } from '../../packages/shared/src/index.ts';
import { openObjectStore } from '../../packages/shared/src/objects/index.ts';
import type { LehrProcess, LogLine } from '../support/lehr-process.ts';
import { pixelData } from '../support/picture-file.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { tinyModels } from '../support/tiny-models.ts';
import { type WorkerWorld, workerWorld } from '../support/worker-world.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const WAIT = { timeout: 60_000, interval: 20 };
const CHECKPOINTS = { everySteps: 5, everyMs: 3_600_000, bytesPerS: 1e9 };
const LOGGED = { checkpoints: CHECKPOINTS, logsSteps: true };
/** Steps of 100 ms: seconds of a picture are left when it is interrupted, also on a machine that stalls. */
const SLOW = { ...LOGGED, latency: { stepBaseMs: 100, stepPerRowMs: 0, pictureMs: 5, textMs: 1 } };
/** Takes the jobs of a killed worker soon, and keeps its own leases when the machine stalls. */
const RESCUER = {
  ...LOGGED,
  latency: { stepBaseMs: 0, stepPerRowMs: 0, pictureMs: 0, textMs: 0 },
  stalledCheckMs: 300,
  times: { janitorEveryMs: 300 },
};
const SHORT_LEASES = {
  leaseMs: 1500,
  stalledCheckMs: 300,
  times: { renewEveryMs: 250, janitorEveryMs: 300 },
};

interface Stepped {
  readonly id: string;
  readonly step: number;
}

/** The steps that a worker made for one picture of a job. */
function stepsOf(worker: LehrProcess, job: JobId, picture = 0): number[] {
  const lines = worker.lines.filter(({ msg }) => msg === 'stepped');
  const stepped = lines.flatMap(({ samples }) => samples as Stepped[]);
  return stepped.filter(({ id }) => id.startsWith(`${job}.${picture}.`)).map(({ step }) => step);
}

const isResumed =
  (job: JobId, picture = 0) =>
  (line: LogLine): boolean =>
    line.msg === 'picture resumed' && line.job === job && line.picture === picture;

const isIgnored =
  (job: JobId) =>
  (line: LogLine): boolean =>
    line.job === job && line.reason !== undefined;

/** The step of the stored checkpoint of a picture; undefined while there is none. */
async function storedStep(world: WorkerWorld, job: JobId, picture = 0): Promise<number | undefined> {
  const bytes = await world.redis.hgetBuffer(world.keys.checkpoints(job), `bytes:${picture}`);
  if (!bytes) return undefined;
  return (JSON.parse(bytes.subarray(12, 12 + bytes.readUInt32LE(8)).toString()) as { call: number }).call;
}

const hasStored = (world: WorkerWorld, job: JobId, step: number, picture = 0) =>
  vi.waitFor(
    async () => expect((await storedStep(world, job, picture)) ?? 0).toBeGreaterThanOrEqual(step),
    WAIT,
  );

/** The pixels of each picture of a job, once it has succeeded. */
async function picturesOf(world: WorkerWorld, job: JobId): Promise<string[]> {
  const record = await world.reached(job);
  if (record.state !== 'succeeded') throw new Error(`${record.state}: ${JSON.stringify(record)}`);
  return Promise.all(
    (record.output.images ?? []).map(async ({ key }) => pixelData(await world.readObject(key))),
  );
}

/** Log lines of a process may arrive after the effects of what they report. */
const eventually = (check: () => void): Promise<void> => vi.waitFor(check, WAIT);

const upTo = (last: number, first: number): number[] =>
  Array.from({ length: last - first }, (_, i) => first + 1 + i);

test('After a kill -9 of its worker, a picture continues at its last checkpoint and is the same', async () => {
  const world = await workerWorld(server.url);
  const input = { steps: 100, sampler: 'dpmpp_2m_sde_karras' } as const;
  const killed = await world.simulated({ ...SLOW, ...SHORT_LEASES });
  const job = await world.draw(input);
  await hasStored(world, job, 10);
  killed.signal('SIGKILL');
  await killed.exited();
  const stored = (await storedStep(world, job)) as number;
  expect(stored).toBeGreaterThanOrEqual(10);

  const rescuer = await world.simulated(RESCUER);
  const [pixels] = await picturesOf(world, job);
  const { step } = (await rescuer.line(isResumed(job))) as LogLine & Stepped;
  // Redis may have received one more from the killed worker after it was read here.
  expect(step).toBeGreaterThanOrEqual(stored);
  await eventually(() => expect(stepsOf(rescuer, job)).toEqual(upTo(100, step)));
  expect(await world.redis.exists(world.keys.checkpoints(job))).toBe(0);
  expect(await picturesOf(world, await world.draw(input))).toEqual([pixels]);
});

const OBJECTS = {
  image: { kind: 'object', key: 'in/tenant/file' },
  mask: { kind: 'object', key: 'in/tenant/mask' },
} as const;

test.each([
  ['that began at another one', {}],
  [
    'of which a part is drawn again',
    { mask: OBJECTS.mask, mask_blur: 3, mask_fill: 'latent_noise' as const },
  ],
])(
  'After a kill -9 of its worker, a picture %s continues at its last checkpoint',
  {
    tags: ['long'],
  },
  async (_, fields) => {
    const world = await workerWorld(server.url, await tinyModels({ vaeEncoder: true }));
    const store = await openObjectStore({
      kind: 'folder',
      root: join(world.home, 'objects'),
      publicUrl: 'http://127.0.0.1',
      linkSecret: 'x'.repeat(32),
    });
    const background = { r: 200, g: 40, b: 90 };
    const file = await sharp({ create: { width: 90, height: 50, channels: 3, background } })
      .png()
      .toBuffer();
    await store.put(toObjectKey(OBJECTS.image.key), file, { contentType: 'image/png' });
    const black = sharp({ create: { width: 90, height: 50, channels: 3, background: '#000' } });
    const white = { create: { width: 40, height: 30, channels: 3 as const, background: '#fff' } };
    const mask = await black
      .composite([{ input: white, left: 10, top: 10 }])
      .png()
      .toBuffer();
    await store.put(toObjectKey(OBJECTS.mask.key), mask, { contentType: 'image/png' });
    const { image } = OBJECTS;
    const input = { steps: 200, strength: 0.5, sampler: 'dpmpp_2m_sde_karras', image, ...fields } as const;
    const killed = await world.simulated({ ...SLOW, ...SHORT_LEASES });
    const job = await world.draw(input);
    await hasStored(world, job, 10);
    killed.signal('SIGKILL');
    await killed.exited();

    const rescuer = await world.simulated(RESCUER);
    const [pixels] = await picturesOf(world, job);
    const { step } = (await rescuer.line(isResumed(job))) as LogLine & Stepped;
    expect(step).toBeGreaterThanOrEqual(10);
    await eventually(() => expect(stepsOf(rescuer, job)).toEqual(upTo(100, step)));
    expect(await picturesOf(world, await world.draw(input))).toEqual([pixels]);
  },
);

test('After a kill -9 of its worker in its second pass, a picture continues there and is the same', {
  tags: ['long'],
}, async () => {
  const world = await workerWorld(server.url);
  const hires = { scale: 2, width: 128, height: 128, steps: 100, strength: 0.8, upscaler: 'latent' } as const;
  const input = { steps: 20, sampler: 'dpmpp_2m_sde_karras', hires } as const;
  const killed = await world.simulated({ ...SLOW, ...SHORT_LEASES });
  const job = await world.draw(input);
  await vi.waitFor(() => expect(stepsOf(killed, job).at(-1) ?? 0).toBeGreaterThan(40), WAIT);
  killed.signal('SIGKILL');
  await killed.exited();

  const rescuer = await world.simulated(RESCUER);
  const [pixels] = await picturesOf(world, job);
  const { step } = (await rescuer.line(isResumed(job))) as LogLine & Stepped;
  expect(step).toBeGreaterThan(20);
  await eventually(() => expect(stepsOf(rescuer, job)).toEqual(upTo(100, step)));
  expect(await picturesOf(world, await world.draw(input))).toEqual([pixels]);
});

test('A full batch that does not fit into two seconds of grace continues elsewhere at the same step, with no attempt counted', {
  tags: ['long'],
}, async () => {
  const world = await workerWorld(server.url);
  const drained = await world.simulated({ ...SLOW, rowCap: 8, drainMs: 2000 });
  const jobs = await Promise.all([1, 2, 3, 4].map((seed) => world.draw({ seed, steps: 300 })));
  for (const job of jobs)
    await vi.waitFor(() => expect(stepsOf(drained, job).length).toBeGreaterThan(1), WAIT);
  drained.signal('SIGTERM');
  expect(await drained.exited()).toBe(0);
  for (const job of jobs)
    expect(await world.records.read(job)).toMatchObject({ state: 'queued', attempt: 0 });

  const other = await world.simulated(RESCUER);
  for (const job of jobs) {
    await picturesOf(world, job);
    const { step } = (await other.line(isResumed(job))) as LogLine & Stepped;
    await eventually(() => expect(stepsOf(drained, job).at(-1)).toBe(step));
    await eventually(() => expect(stepsOf(other, job)).toEqual(upTo(300, step)));
    expect(await world.records.read(job)).toMatchObject({ attempt: 1 });
  }
});

test('Of a job with three pictures, the finished one is not computed again', { tags: ['long'] }, async () => {
  const world = await workerWorld(server.url);
  // Rows for one picture, so that they run one after the other.
  const drained = await world.simulated({ ...SLOW, rowCap: 2, drainMs: 0 });
  const job = await world.draw({ n: 3, steps: 40 });
  await hasStored(world, job, 40, 0);
  drained.signal('SIGTERM');
  expect(await drained.exited()).toBe(0);

  const other = await world.simulated(RESCUER);
  const pictures = await picturesOf(world, job);
  expect(await other.line(isResumed(job))).toMatchObject({ step: 40 });
  await eventually(() => {
    const made = [drained, other].map((worker) =>
      [0, 1, 2].map((picture) => stepsOf(worker, job, picture).length),
    );
    expect(made[1]).toEqual([0, 40 - made[0][1], 40 - made[0][2]]);
  });
  expect(await picturesOf(world, await world.draw({ n: 3, steps: 40 }))).toEqual(pictures);
});

test('After a kill -9 of its engine, a picture continues at the checkpoint that the worker received last', {
  tags: ['long'],
}, async () => {
  const world = await workerWorld(server.url);
  const worker = await world.simulated(SLOW);
  const { engine } = await worker.logged('simulated worker serves');
  const job = await world.draw({ steps: 60 });
  await hasStored(world, job, 10);
  process.kill(engine as number, 'SIGKILL');
  await picturesOf(world, job);
  const { step } = await worker.line(isResumed(job));
  expect(step).toBeGreaterThanOrEqual(10);
  expect(await world.records.read(job)).toMatchObject({ attempt: 1 });
});

test('With other weights under the same version, and from a damaged checkpoint, a picture starts at its first step', {
  tags: ['long'],
}, async () => {
  const models = await tinyModels();
  const world = await workerWorld(server.url, models);
  const drained = await world.simulated({ ...SLOW, drainMs: 0 });
  const jobs = await Promise.all([1, 2].map((seed) => world.draw({ seed, steps: 100 })));
  for (const job of jobs) await hasStored(world, job, 5);
  drained.signal('SIGTERM');
  expect(await drained.exited()).toBe(0);
  const [damaged, other] = jobs;
  await world.redis.hset(world.keys.checkpoints(damaged), 'bytes:0', Buffer.from('not a checkpoint'));
  await writeTinyDiffusion(join(dirname(models), 'tiny'), { seed: 6, timestepType: 'float32' });

  const worker = await world.simulated(RESCUER);
  for (const job of jobs) {
    await picturesOf(world, job);
    await eventually(() => expect(stepsOf(worker, job)).toEqual(upTo(100, 0)));
  }
  expect(await worker.line(isIgnored(damaged))).toMatchObject({ reason: 'it is not a checkpoint' });
  expect(await worker.line(isIgnored(other))).toMatchObject({
    reason: expect.stringContaining('other weights'),
  });
});

test('A drained worker leaves a large checkpoint in the store, the next one counts its use, and a cancel deletes it', {
  tags: ['long'],
}, async () => {
  const world = await workerWorld(server.url);
  // Its latent alone has 262 kB, more than Redis takes, and it takes much longer than this test.
  const env = { LEHR_DRAIN_S: '0' };
  const drained = await world.worker(env);
  const job = await world.draw({ steps: 900, width: 1024, height: 1024 });
  const objectOf = () => world.redis.hget(world.keys.checkpoints(job), 'object:0');
  await vi.waitFor(async () => expect((await objectOf()) ?? '').toContain(job), WAIT);
  await drained.stop();

  const other = await world.worker(env);
  const { step } = await other.line(isResumed(job));
  expect(step).toBeGreaterThan(0);
  const { port } = await other.logged('worker starts');
  const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  expect(metrics).toContain('lehr_checkpoints_total{model="tiny",version="1",outcome="resumed"} 1\n');
  expect(metrics).toMatch(/^lehr_checkpoint_bytes_total\{model="tiny",version="1"\} \d/m);
  await world.records.apply([{ move: 'cancel', id: job }]);
  expect(await world.reached(job)).toMatchObject({ state: 'canceled' });
  expect(await objectOf()).toBeNull();
  // The folder of all outputs goes with its last object.
  const stored = async (): Promise<string[]> =>
    (await readdir(join(world.home, 'objects'), { recursive: true })).filter((name) =>
      /^out.*object$/.test(name),
    );
  await vi.waitFor(async () => expect(await stored()).toEqual([]), WAIT);
});

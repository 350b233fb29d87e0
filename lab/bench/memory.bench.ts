/** What one job takes in the memory of Redis, while it waits and after its end: records, indexes and BullMQ's keys. */
import { newWorkerId } from '../../packages/shared/src/index.ts';
import { AttemptStore, firstScore, GroupQueues } from '../../packages/shared/src/queue/index.ts';
import { type NewJob, RecordStore } from '../../packages/shared/src/records/index.ts';
import { keysOf, openRedis, type Redis } from '../../packages/shared/src/redis/index.ts';
import { startRedis } from '../../test/support/redis-server.ts';
import { benchJob, GROUP } from './bench-job.ts';
import type { SampledFigure } from './harness.ts';

const JOBS = 8000;
/** Before the measurement, until BullMQ holds all that it keeps of a queue: a thousand finished jobs, ten thousand events. */
const JOBS_BEFORE = 4000;
const AT_ONCE = 200;
const SERVER = ['--appendonly', 'no'];
const WORKER = newWorkerId('bench');

const jobAt = (place: number): NewJob => ({
  ...benchJob(),
  cost: 1234.56,
  score: firstScore('standard') + place,
  fair_tag: 1000.5 + place,
  admitted_at: Date.now(),
  input: {
    prompt: 'a lighthouse on a rock in the evening, long exposure, film grain',
    negative_prompt: 'blurry',
    width: 512,
    height: 512,
    steps: 20,
    guidance: 7.5,
    sampler: 'dpmpp_2m',
    count: 1,
    seed: 123_456_789,
  },
  deadline_at: Date.now() + 3_600_000,
});

const output = (id: string) => ({
  images: [
    {
      key: `outputs/2026-11-20/${id}/0.png`,
      content_type: 'image/png',
      width: 512,
      height: 512,
      bytes: 345_678,
      sha256: 'a'.repeat(64),
      seed: 123_456_789,
    },
  ],
});
const METRICS = {
  queue_ms: 1234,
  run_ms: 2345,
  total_ms: 3579,
  batch_size: 4,
  worker: WORKER,
  timings: { queued: 1234, admitted: 3, text: 12, denoise: 2200, decode: 60, encode: 20, upload: 50 },
};

interface World {
  readonly redis: Redis;
  readonly records: RecordStore;
  readonly queues: GroupQueues;
  readonly store: AttemptStore;
  close(): Promise<void>;
}

async function openWorld(): Promise<World> {
  const server = await startRedis(SERVER);
  const keys = keysOf('bench');
  const redis = openRedis(server.url, 'worker');
  const queues = await GroupQueues.open(redis, keys);
  const records = new RecordStore(redis, keys, { retentionMs: 3_600_000 });
  const store = new AttemptStore({ redis, keys, records, worker: WORKER, leaseMs: queues.leaseMs });
  const close = async (): Promise<void> => {
    redis.disconnect();
    await server.stop();
  };
  return { redis, records, queues, store, close };
}

const usedBytes = async (redis: Redis): Promise<number> =>
  Number(/used_memory_dataset:(\d+)/.exec(await redis.info('memory'))?.[1]);

async function submit({ records, queues }: World, count: number): Promise<void> {
  for (let place = 0; place < count; place += AT_ONCE) {
    const jobs = Array.from({ length: AT_ONCE }, (_, i) => jobAt(place + i));
    await Promise.all(
      jobs.map((job) => records.create(job, () => queues.of(GROUP).add(job, job.score ?? 0))),
    );
  }
}

async function finishAll({ store }: World): Promise<void> {
  for (;;) {
    const started = await store.start(GROUP, AT_ONCE);
    if (started.length === 0) return;
    await Promise.all(
      started.map(({ claim }) => {
        const fields = { output: output(claim.jobId), metrics: METRICS };
        return store.end(claim, { move: 'succeed', id: claim.jobId, lease: claim.token, fields });
      }),
    );
  }
}

const figure = (name: string, atMost: number, isFinished: boolean): SampledFigure => ({
  kind: 'sampled',
  name,
  unit: 'kB',
  percentile: 50,
  target: { atMost },
  open: async () => {
    const world = await openWorld();
    return {
      samples: async () => {
        await submit(world, JOBS_BEFORE);
        await finishAll(world);
        const before = await usedBytes(world.redis);
        await submit(world, JOBS);
        if (isFinished) await finishAll(world);
        return [((await usedBytes(world.redis)) - before) / JOBS / 1000];
      },
      close: world.close,
    };
  },
});

export const figures: readonly SampledFigure[] = [
  figure('memory of a waiting job', 2.5, false),
  figure('memory of a finished job', 1.5, true),
];

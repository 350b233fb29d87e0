/** What the queue costs at scale, by Redis's own count of its time: free of other processes and of waiting for the network. */
import { newWorkerId } from '../../packages/shared/src/index.ts';
import {
  Accepter,
  AttemptStore,
  Claimer,
  GroupQueues,
  type PricedJob,
  type Started,
} from '../../packages/shared/src/queue/index.ts';
import { RecordStore } from '../../packages/shared/src/records/index.ts';
import { keysOf, openRedis, type Redis } from '../../packages/shared/src/redis/index.ts';
import { startRedis } from '../../test/support/redis-server.ts';
import { benchJob, GROUP } from './bench-job.ts';
import { commandTimes, cpuUs, differenceOf, printCommands } from './command-times.ts';
import type { SampledFigure } from './harness.ts';

const GROUPS = Array.from({ length: 1000 }, (_, i) => `diffusion.bench@1.512x${64 + 8 * i}`);
/** Of a thousand groups, those with waiting jobs; a few models of sizes that callers chose, at a moderate load. */
const GROUPS_WITH_HEADS = 20;
const ACTIVE = 32_000;
const LIVES = 2000;
const AT_ONCE = 200;
const WORKER = newWorkerId('bench');

interface World {
  readonly redis: Redis;
  readonly queues: GroupQueues;
  readonly claimer: Claimer;
  readonly accepter: Accepter;
  readonly store: AttemptStore;
  close(): Promise<void>;
}

async function openWorld(): Promise<World> {
  const server = await startRedis(['--appendonly', 'no']);
  const keys = keysOf('bench');
  const [redis, blocking] = [openRedis(server.url, 'worker'), openRedis(server.url, 'blocking')];
  const queues = await GroupQueues.open(redis, keys, { leaseMs: 600_000, stalledCheckMs: 1 });
  const records = new RecordStore(redis, keys, { retentionMs: 3_600_000 });
  const claimer = new Claimer({ commands: redis, blocking, keys, queues, worker: WORKER });
  const close = async (): Promise<void> => {
    for (const connection of [redis, blocking]) connection.disconnect();
    await server.stop();
  };
  const accepter = new Accepter(redis, keys, queues, records);
  const store = new AttemptStore({ redis, keys, records, worker: WORKER, leaseMs: queues.leaseMs });
  return { redis, queues, claimer, accepter, store, close };
}

/** Accepts a job as the API does. */
async function post({ accepter }: World, queue: string): Promise<void> {
  const job: PricedJob = {
    ...benchJob(),
    queue,
    input: { prompt: 'a lighthouse on a rock in the evening', width: 512, height: 512, steps: 20, n: 1 },
    deadlineMs: undefined,
  };
  const { code } = await accepter.accept(job, {
    groups: [{ queue, cost: job.cost, workers: 9, elsewhereMs: 0, elsewhereGroups: 0 }],
    maxGroups: 10_000,
    groupsWithinMs: 3_600_000,
    maxJobs: 1e6,
    maxWaitMs: 1e12,
  });
  if (code !== 'admitted') throw new Error(`not admitted: ${code}`);
}

async function postMany(world: World, queue: string, count: number): Promise<void> {
  for (let sent = 0; sent < count; sent += AT_ONCE) {
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, count - sent) }, () => post(world, queue)));
  }
}

async function endAll({ store }: World, started: readonly Started[]): Promise<void> {
  const fields = { output: { images: [] }, metrics: { queue_ms: 1, run_ms: 2, total_ms: 3 } };
  for (const { claim } of started)
    await store.end(claim, { move: 'succeed', id: claim.jobId, lease: claim.token, fields });
}

/** The Redis time of `work` in us, and the longest single command, also in us. */
async function timed(redis: Redis, work: () => Promise<void>) {
  const before = await commandTimes(redis);
  await work();
  return differenceOf(before, await commandTimes(redis));
}

interface RedisFigure {
  readonly name: string;
  readonly unit: string;
  readonly atMost: number;
  readonly samples: (world: World) => Promise<readonly number[]>;
}

const figure = ({ name, unit, atMost, samples }: RedisFigure): SampledFigure => ({
  kind: 'sampled',
  name,
  unit,
  percentile: 50,
  target: { atMost },
  open: async () => {
    const world = await openWorld();
    return { samples: () => samples(world), close: world.close };
  },
});

/** A look of a worker that serves a thousand groups, a few of which have waiting jobs. */
async function look(world: World): Promise<number[]> {
  for (const group of GROUPS) await post(world, group);
  for (const group of GROUPS.slice(GROUPS_WITH_HEADS)) await world.store.start(group, 1);
  // The first searches meet the groups without a waiting job, and take them out of the index.
  do await world.claimer.findWork(['bench@1']);
  while (!world.claimer.searchedAll);
  const samples: number[] = [];
  for (let i = 0; i < 100; i++) {
    const { totalUs } = await timed(world.redis, async () => {
      const heads = await world.claimer.findWork(['bench@1']);
      if (heads.length !== GROUPS_WITH_HEADS) throw new Error(`found ${heads.length} groups`);
    });
    samples.push(totalUs / 1000);
  }
  return samples;
}

/** A look of a worker whose models have ten thousand groups with waiting jobs. */
async function lookAmongMany(world: World): Promise<number[]> {
  const many = Array.from(
    { length: 10_000 },
    (_, i) => `diffusion.bench@1.${64 + 8 * (i % 100)}x${64 + 8 * Math.floor(i / 100)}`,
  );
  for (let i = 0; i < many.length; i += AT_ONCE) {
    await Promise.all(many.slice(i, i + AT_ONCE).map((group) => post(world, group)));
  }
  const samples: number[] = [];
  for (let i = 0; i < 400; i++) {
    const { totalUs } = await timed(world.redis, async () => {
      await world.claimer.findWork(['bench@1']);
    });
    samples.push(totalUs / 1000);
  }
  return samples;
}

/** Completions of random jobs among those that many workers hold in one group. */
async function complete(world: World): Promise<number[]> {
  const claims = await claimMany(world);
  const samples: number[] = [];
  for (let i = 0; i < 100; i++) {
    const [claim] = claims.splice(Math.floor(Math.random() * claims.length), 1);
    const { totalUs } = await timed(world.redis, async () => {
      await endAll(world, [claim]);
    });
    samples.push(totalUs);
  }
  return samples;
}

async function checkStalled(world: World): Promise<number[]> {
  await claimMany(world);
  const samples: number[] = [];
  for (let i = 0; i < 20; i++) {
    const { slowestUs } = await timed(world.redis, async () => {
      await world.queues.of(GROUP).recoverStalled();
    });
    samples.push(slowestUs / 1000);
  }
  return samples;
}

async function claimMany(world: World): Promise<Started[]> {
  const claims: Started[] = [];
  while (claims.length < ACTIVE) {
    await postMany(world, GROUP, 1000);
    for (let i = 0; i < 10; i++) claims.push(...(await world.store.start(GROUP, 100)));
  }
  return claims;
}

/** From the admission to the completion, one by one, without a follower. */
async function life(world: World): Promise<number[]> {
  const run = async (jobs: number): Promise<void> => {
    for (let done = 0; done < jobs; done += 8) {
      await postMany(world, GROUP, 8);
      await world.claimer.findWork(['bench@1']);
      await endAll(world, await world.store.start(GROUP, 8));
    }
  };
  await run(LIVES);
  const before = await cpuUs(world.redis);
  printCommands(await timed(world.redis, () => run(LIVES)), LIVES);
  return [((await cpuUs(world.redis)) - before) / LIVES];
}

export const figures: readonly SampledFigure[] = [
  figure({ name: 'look for work, 1,000 groups, 20 with heads', unit: 'ms', atMost: 0.3, samples: look }),
  figure({
    name: 'look for work, 10,000 groups with heads',
    unit: 'ms',
    atMost: 0.3,
    samples: lookAmongMany,
  }),
  figure({ name: 'completion, 32,000 running in one group', unit: 'us', atMost: 120, samples: complete }),
  figure({
    name: 'stalled check, 32,000 running in one group',
    unit: 'ms',
    atMost: 5,
    samples: checkStalled,
  }),
  figure({ name: "a job's life, unwatched", unit: 'us', atMost: 180, samples: life }),
];

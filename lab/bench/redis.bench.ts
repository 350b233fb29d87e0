/**
 * What one Redis carries: commands, CPU and bytes of a job, with 1,000 simulated workers that run the queue side that ships. CPU is that of
 * the one thread of Redis that serves commands, by its own count, so that other load of the machine changes it little.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { openRedis, type Redis } from '../../packages/shared/src/redis/index.ts';
import { startRedis } from '../../test/support/redis-server.ts';
import { endPrograms, startFillers, startWorkers } from '../simulation/programs.ts';
import type { Chart } from './charts.ts';
import { commandTimes, cpuUs } from './command-times.ts';
import type { SampledFigure } from './harness.ts';

const JOBS = 12_000;
const TENANTS = 100;
const WORKERS = 1000;
const PROCESSES = 4;
const JOB_MS = 20_000;
const SERVE_MS = 30_000;
const SERVER = ['--appendonly', 'no'];

const FILL_LIMIT_MS = 200_000;

interface Counters {
  readonly atMs: number;
  readonly cpuUs: number;
  readonly calls: number;
  readonly scripts: number;
  readonly inBytes: number;
  readonly outBytes: number;
}

interface Load {
  /** Of posting: admission, record and queue entry. */
  readonly post: Counters;
  /** Of serving: claims, leases, records, reports, over the jobs started meanwhile. */
  readonly serve: Counters;
  readonly posted: number;
  readonly started: number;
  readonly connections: number;
}

let measured: Promise<Load> | undefined;

async function countersOf(redis: Redis): Promise<Counters> {
  const stats = await redis.info('stats');
  const field = (name: string): number => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(stats)?.[1]);
  const commands = await commandTimes(redis);
  const calls = (names?: readonly string[]): number =>
    [...commands].reduce((sum, [name, each]) => sum + (!names || names.includes(name) ? each.calls : 0), 0);
  return {
    atMs: performance.now(),
    cpuUs: await cpuUs(redis),
    calls: calls(),
    scripts: calls(['evalsha', 'eval', 'fcall']),
    inBytes: field('total_net_input_bytes'),
    outBytes: field('total_net_output_bytes'),
  };
}

const since = (before: Counters, after: Counters): Counters => ({
  atMs: after.atMs - before.atMs,
  cpuUs: after.cpuUs - before.cpuUs,
  calls: after.calls - before.calls,
  scripts: after.scripts - before.scripts,
  inBytes: after.inBytes - before.inBytes,
  outBytes: after.outBytes - before.outBytes,
});

async function measureLoad(): Promise<Load> {
  const server = await startRedis(SERVER);
  const redis = openRedis(server.url, 'blocking');
  try {
    const fillers = await startFillers(server.url, 2);
    const empty = await countersOf(redis);
    const until = Date.now() + FILL_LIMIT_MS;
    const posted = await fillers.fill({ from: 0, to: JOBS, tenants: TENANTS, inARow: 1, until });
    const filled = await countersOf(redis);
    let started = 0;
    const fleet = await startWorkers(
      { url: server.url, workers: WORKERS, rows: 1, jobMs: JOB_MS },
      PROCESSES,
      ({ starts }) => {
        started += starts.length;
      },
    );
    const connections = Number(/connected_clients:(\d+)/.exec(await redis.info('clients'))?.[1]);
    const opened = await countersOf(redis);
    fleet.start();
    await sleep(SERVE_MS);
    return {
      post: since(empty, filled),
      serve: since(opened, await countersOf(redis)),
      posted,
      started,
      connections,
    };
  } finally {
    endPrograms();
    redis.disconnect();
    await server.stop();
  }
}

const figure = (name: string, unit: string, value: (load: Load) => number): SampledFigure => ({
  kind: 'sampled',
  name,
  unit,
  percentile: 50,
  open: async () => ({
    samples: async () => {
      measured ??= measureLoad();
      return [value(await measured)];
    },
    close: async () => {},
  }),
});

export const figures: readonly SampledFigure[] = [
  figure('Redis CPU of posting a job', 'us', ({ post, posted }) => post.cpuUs / posted),
  figure('Redis CPU of serving a job, 1,000 workers', 'us', ({ serve, started }) => serve.cpuUs / started),
  figure('scripts of posting a job', 'calls', ({ post, posted }) => post.scripts / posted),
  figure('scripts of serving a job, 1,000 workers', 'calls', ({ serve, started }) => serve.scripts / started),
  figure(
    'commands of a job, those inside of scripts as well',
    'calls',
    ({ post, serve, posted, started }) => post.calls / posted + serve.calls / started,
  ),
  figure(
    'bytes of a job to Redis',
    'bytes',
    ({ post, serve, posted, started }) => post.inBytes / posted + serve.inBytes / started,
  ),
  figure(
    'bytes of a job from Redis',
    'bytes',
    ({ post, serve, posted, started }) => post.outBytes / posted + serve.outBytes / started,
  ),
  figure('connections of 1,000 workers', 'connections', ({ connections }) => connections),
  figure(
    'jobs started per second, 1,000 workers',
    'jobs/s',
    ({ serve, started }) => (1000 * started) / serve.atMs,
  ),
];

export async function charts(): Promise<Chart[]> {
  const load = await measured;
  if (!load) return [];
  const { post, serve, posted, started } = load;
  return [
    {
      part: 'scale',
      kind: 'stack',
      title: 'Time of Redis for one job',
      about: `${posted} jobs posted without HTTP, then ${started} of them started by ${WORKERS} simulated workers with four lanes each; reports, looks for work and renewals of leases are in it.`,
      x: { label: 'µs of its one thread' },
      bars: [
        {
          name: 'a job',
          parts: [
            { name: 'posting it', value: post.cpuUs / posted },
            { name: 'serving it', value: serve.cpuUs / started },
          ],
        },
      ],
    },
  ];
}

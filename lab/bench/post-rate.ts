/**
 * How fast one API process accepts jobs, compared with BullMQ's own `add` in the same process, on the same Redis and with the
 * same kind of connection. Both have the same number of requests in progress.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Queue } from 'bullmq';
import { readApiSettings } from '../../apps/api/src/base/env.ts';
import { startApi } from '../../apps/api/src/start.ts';
import { silentLog } from '../../packages/shared/src/index.ts';
import { openRedis, redisReady } from '../../packages/shared/src/redis/index.ts';
import { FSYNC_EVERY_SECOND, startRedis } from '../../test/support/redis-server.ts';
import { ownCpuSeconds } from '../peers/cpu.ts';
import type { LoadSettings } from './post-load.ts';
import { startThinApi } from './thin-api.ts';

export interface RateOptions {
  /** Jobs of one round. */
  readonly jobs?: number;
  /** Requests, or adds, in progress at the same time. */
  readonly connections?: number;
  /** Further variables of the API. */
  readonly env?: Readonly<Record<string, string>>;
}

export interface Rate {
  readonly perSecond: number;
  /** CPU time of this process per job, including kernel time. */
  readonly cpuMs: number;
}

/** Of one API process, or of what is in its place. */
export interface OneRate extends Rate {
  /** CPU time of Redis per job. */
  readonly redisMs: number;
}

export interface PostRate {
  post(): Promise<OneRate>;
  add(): Promise<OneRate>;
  /** The same requests to the thinnest API, in this process as well. */
  thin(): Promise<OneRate>;
  /** Ms of CPU of this process for one scrape of its metrics. */
  scrape(): Promise<number>;
  close(): Promise<void>;
}

export const KEY = 'lehr_bench_key_0123456789';
export const MODELS = `models:
  - name: sd
    task: diffusion
    versions: [{ version: "1", path: sd }]
`;
export const BODY = JSON.stringify({
  type: 'text-to-image',
  input: { prompt: 'a red circle on a blue background', width: 512, height: 512, steps: 20, seed: 7 },
});

export async function openPostRate({
  jobs = 2000,
  connections = 32,
  env = {},
}: RateOptions = {}): Promise<PostRate> {
  const home = await mkdtemp(join(tmpdir(), 'lehr-bench-'));
  const models = join(home, 'models.yaml');
  await writeFile(models, MODELS);
  const server = await startRedis(FSYNC_EVERY_SECOND);
  const source = {
    LEHR_HOME: home,
    LEHR_PORT: '0',
    LEHR_REDIS_URL: server.url,
    LEHR_API_KEY: KEY,
    // No worker runs, so no wait may be too long.
    LEHR_MAX_WAIT_S: '1e9',
    ...env,
  };
  const api = await startApi(await readApiSettings(source, models), silentLog);
  const load = fork(fileURLToPath(new URL('./post-load.ts', import.meta.url)), {
    execArgv: process.execArgv,
  });
  const redis = openRedis(server.url, 'api');
  await redisReady(redis);
  const queue = new Queue('bench', { connection: redis, skipVersionCheck: true });
  await queue.waitUntilReady();
  const thin = await startThinApi(queue, KEY);

  const timed = async (work: () => Promise<number>): Promise<OneRate> => {
    const ofRedis = ownCpuSeconds(server.pid);
    const cpu = process.cpuUsage();
    const ms = await work();
    const { user, system } = process.cpuUsage(cpu);
    const redisMs = ((ownCpuSeconds(server.pid) - ofRedis) * 1000) / jobs;
    // The queue must not grow from round to round.
    await redis.flushdb();
    return { perSecond: (jobs / ms) * 1000, cpuMs: (user + system) / 1000 / jobs, redisMs };
  };
  const postTo = (port: number): Promise<OneRate> =>
    timed(() => runLoad(load, { port, key: KEY, body: BODY, count: jobs, connections }));
  return {
    post: () => postTo(api.port),
    thin: () => postTo(thin.port),
    add: () =>
      timed(async () => {
        const startedAt = performance.now();
        let left = jobs;
        const worker = async (): Promise<void> => {
          while (left-- > 0) await queue.add('text-to-image', { body: BODY }, { priority: 5 });
        };
        await Promise.all(Array.from({ length: connections }, worker));
        return performance.now() - startedAt;
      }),
    scrape: async () => {
      const cpu = process.cpuUsage();
      await (await fetch(`http://127.0.0.1:${api.port}/metrics`)).text();
      const { user, system } = process.cpuUsage(cpu);
      return (user + system) / 1000;
    },
    close: async () => {
      load.disconnect();
      thin.close();
      await api.stop();
      redis.disconnect();
      await server.stop();
      await rm(home, { recursive: true, force: true });
    },
  };
}

/** Milliseconds that the load took, measured by its own process. */
export async function runLoad(load: ChildProcess, order: LoadSettings): Promise<number> {
  load.send(order);
  const [{ ms, error }] = (await once(load, 'message')) as [{ ms: number; error?: string }];
  if (error !== undefined) throw new Error(error);
  return ms;
}

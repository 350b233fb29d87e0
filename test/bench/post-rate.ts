/**
 * How fast one API process takes jobs, beside BullMQ's own `add` in the same process, on the same server and through a
 * connection of the same kind. Both keep as many under way at once.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Queue } from 'bullmq';
import { readApiSettings } from '../../apps/api/src/env.ts';
import { startApi } from '../../apps/api/src/start.ts';
import { silentLog } from '../../packages/shared/src/index.ts';
import { openRedis, redisReady } from '../../packages/shared/src/redis/index.ts';
import { EVERYSEC, startRedis } from '../support/redis-server.ts';
import type { LoadOrder } from './post-load.ts';

export interface RateOptions {
  /** Of one round. */
  readonly jobs?: number;
  /** Requests, or adds, under way at once. */
  readonly connections?: number;
}

export interface Rate {
  readonly perSecond: number;
  /** Of this process, kernel included, for one job. */
  readonly cpuMs: number;
}

export interface PostRate {
  post(): Promise<Rate>;
  add(): Promise<Rate>;
  close(): Promise<void>;
}

const KEY = 'lehr_bench_key_0123456789';
const MODELS = `models:
  - name: sd
    task: diffusion
    versions: [{ version: "1", path: sd }]
`;
const BODY = JSON.stringify({
  type: 'text-to-image',
  input: { prompt: 'a red circle on a blue background', width: 512, height: 512, steps: 20, seed: 7 },
});

export async function openPostRate({ jobs = 2000, connections = 32 }: RateOptions = {}): Promise<PostRate> {
  const home = await mkdtemp(join(tmpdir(), 'lehr-bench-'));
  const models = join(home, 'models.yaml');
  await writeFile(models, MODELS);
  const server = await startRedis(EVERYSEC);
  const source = {
    LEHR_HOME: home,
    LEHR_PORT: '0',
    LEHR_REDIS_URL: server.url,
    LEHR_API_KEY: KEY,
    // Nothing works the jobs off.
    LEHR_MAX_WAIT_S: '1e9',
  };
  const api = await startApi(await readApiSettings(source, models), silentLog);
  const load = fork(fileURLToPath(new URL('./post-load.ts', import.meta.url)), {
    execArgv: process.execArgv,
  });
  const redis = openRedis(server.url, 'api');
  await redisReady(redis);
  const queue = new Queue('bench', { connection: redis, skipVersionCheck: true });
  await queue.waitUntilReady();

  const timed = async (work: () => Promise<number>): Promise<Rate> => {
    const cpu = process.cpuUsage();
    const ms = await work();
    const { user, system } = process.cpuUsage(cpu);
    // What waits must not grow from round to round.
    await redis.flushdb();
    return { perSecond: (jobs / ms) * 1000, cpuMs: (user + system) / 1000 / jobs };
  };
  return {
    post: () =>
      timed(() => ordered(load, { port: api.port, key: KEY, body: BODY, count: jobs, connections })),
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
    close: async () => {
      load.disconnect();
      await api.stop();
      redis.disconnect();
      await server.stop();
      await rm(home, { recursive: true, force: true });
    },
  };
}

/** Ms that the load took, by its own clock. */
async function ordered(load: ChildProcess, order: LoadOrder): Promise<number> {
  load.send(order);
  const [{ ms, error }] = (await once(load, 'message')) as [{ ms: number; error?: string }];
  if (error !== undefined) throw new Error(error);
  return ms;
}

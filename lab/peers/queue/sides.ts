/** Queues that are compared: each has its own Redis, a process that submits jobs and waits for results, and workers that do nothing. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { demoModelsFile } from '../../../packages/demo-models/src/index.ts';
import { FSYNC_EVERY_SECOND, startRedis } from '../../../test/support/redis-server.ts';
import { startWholeLehr } from '../../bench/whole-lehr.ts';
import type { Bench } from '../../real/section.ts';
import { cpuSeconds } from '../cpu.ts';
import { inParallel, startProgram } from './program.ts';

const ROOT = new URL('../../../', import.meta.url).pathname;
const HERE = 'lab/peers/queue';
/** Processes of Celery's pool: one for each core of the machine that this was made for. */
const POOL = 2;

export interface QueueSide {
  readonly name: string;
  /** Submits so many jobs and waits for all results; returns the ms. */
  run(jobs: number): Promise<number>;
  /** CPU seconds since their start, of its parts: producer, workers, Redis. */
  cpu(): Readonly<Record<string, number>>;
  close(): Promise<void>;
}

/** `kind` is the first part of the names of its two programs. */
export async function nodeSide(name: string, kind: 'lehr' | 'bullmq'): Promise<QueueSide> {
  const redis = await startRedis(FSYNC_EVERY_SECOND);
  const worker = await startProgram(`./${kind}-worker.ts`, redis.url);
  const producer = await startProgram(`./${kind}-producer.ts`, redis.url);
  return {
    name,
    run: (jobs) => producer.order({ jobs }),
    cpu: () => cpuOf({ producer: producer.pid, worker: worker.pid, Redis: redis.pid }),
    close: async () => {
      await producer.close();
      await worker.close();
      await redis.stop();
    },
  };
}

/** `folder` is that of the virtual environment. */
export async function celerySide(bench: Bench, folder: string): Promise<QueueSide> {
  const redis = await startRedis(FSYNC_EVERY_SECOND);
  const env = { REDIS_URL: redis.url };
  const flags = ['--without-gossip', '--without-mingle', '--without-heartbeat', '--loglevel', 'ERROR'];
  const args = ['-A', 'celery_tasks', '--quiet', 'worker', '--concurrency', `${POOL}`, ...flags];
  const worker = spawn(join(folder, 'bin/celery'), args, {
    cwd: join(ROOT, HERE),
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, ...env, C_FORCE_ROOT: '1', PYTHONDONTWRITEBYTECODE: '1' },
  });
  const producer = await bench.openPython(`${HERE}/celery_producer.py`, { env });
  // The first result comes when the worker is there.
  await producer.ask({ jobs: 1 });
  return {
    name: 'Celery',
    run: async (jobs) => (await producer.ask<{ ms: number }>({ jobs })).ms,
    cpu: () => cpuOf({ producer: producer.pid, worker: worker.pid ?? 0, Redis: redis.pid }),
    close: async () => {
      await producer.close();
      await stop(worker);
      await redis.stop();
    },
  };
}

/** All of Lehr with its HTTP API and its cheapest job: the embedding of a short text, which runs a small graph. */
export async function wholeSide(): Promise<QueueSide> {
  const lehr = await startWholeLehr({
    LEHR_MODELS: demoModelsFile(),
    LEHR_TASKS: 'text',
    LEHR_DEVICE: 'cpu',
    LEHR_MAX_WAIT_S: '100000',
  });
  const [api, worker] = lehr.pids;
  return {
    name: 'all of Lehr by HTTP, embeddings of a short text',
    run: async (jobs) => {
      const startedAt = performance.now();
      await inParallel(jobs, 64, async () => {
        await lehr.run('text-embedding', { texts: ['a red circle'] });
      });
      return performance.now() - startedAt;
    },
    cpu: () => cpuOf({ API: api, 'worker and engine': worker, Redis: lehr.redisPid }),
    close: lehr.close,
  };
}

const cpuOf = (pids: Readonly<Record<string, number>>): Record<string, number> =>
  Object.fromEntries(Object.entries(pids).map(([part, pid]) => [part, cpuSeconds([pid])]));

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill('SIGTERM');
  await exit;
}

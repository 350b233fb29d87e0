/** The faults of a soak. Each one injects itself, stays for a while and heals. */
import { readFileSync } from 'node:fs';
import type { LehrProcess } from '../../../test/support/lehr-process.ts';
import type { Random } from '../../../test/support/random.ts';
import type { TcpProxy } from '../../../test/support/tcp-proxy.ts';
import type { ChaosWorld } from '../chaos-world.ts';
import { testConnection } from '../redis-admin.ts';
import type { Period } from '../removed-jobs.ts';
import type { S3Fault, ScriptedS3 } from '../scripted-s3.ts';

export interface SoakParts {
  readonly world: ChaosWorld;
  readonly proxy: TcpProxy;
  readonly s3: ScriptedS3;
  readonly workers: LehrProcess[];
  readonly random: Random;
  /** When Redis was full. */
  readonly fullPeriods: Period[];
}

type Fault = (parts: SoakParts) => Promise<void>;

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** The engine and other children of a process. */
function childrenOf(pid: number): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
  return text.split(' ').filter(Boolean).map(Number);
}

function send(pids: readonly number[], signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal);
    } catch {
      // It has ended already.
    }
  }
}

/** Replaces one of the workers by a new one, after `end` has ended it. */
async function replaceWorker(parts: SoakParts, end: (worker: LehrProcess) => Promise<void>): Promise<void> {
  const place = parts.random.below(parts.workers.length);
  await end(parts.workers[place]);
  parts.workers[place] = await parts.world.shippedWorker();
}

const someWorker = ({ workers, random }: SoakParts): LehrProcess => random.pick(workers);

async function freeze(pids: readonly number[], ms: number): Promise<void> {
  send(pids, 'SIGSTOP');
  await pause(ms);
  send(pids, 'SIGCONT');
}

const storeFault =
  (fault: S3Fault, ms: number): Fault =>
  async ({ s3 }) => {
    s3.faults(() => fault);
    await pause(ms);
    s3.faults(() => undefined);
  };

const receiverFault =
  (answer: 'hang' | 503, ms: number): Fault =>
  async ({ world: { receiver } }) => {
    receiver.otherwise(answer);
    await pause(ms);
    receiver.otherwise(204);
  };

async function endApi({ world }: SoakParts, signal: NodeJS.Signals): Promise<void> {
  world.api.signal(signal);
  await world.api.exited();
  await world.startApi();
}

async function fillRedis({ world, fullPeriods }: SoakParts): Promise<void> {
  const redis = await testConnection(world.redis.url);
  const used = Number(/used_memory:(\d+)/.exec(await redis.info('memory'))?.[1]);
  const from = Date.now();
  await redis.config('SET', 'maxmemory', String(Math.floor(used * 0.9)));
  await pause(5000);
  await redis.config('SET', 'maxmemory', '0');
  fullPeriods.push({ from, to: Date.now() });
  redis.disconnect();
}

export const FAULTS: Readonly<Record<string, Fault>> = {
  'kill -9 of a worker and its engine': (parts) =>
    replaceWorker(parts, async (worker) => {
      const engine = childrenOf(worker.pid);
      send([worker.pid, ...engine], 'SIGKILL');
      await worker.exited();
    }),
  'SIGTERM to a worker': (parts) => replaceWorker(parts, (worker) => worker.stop()),
  'kill -9 of an engine': async (parts) => send(childrenOf(someWorker(parts).pid), 'SIGKILL'),
  'a worker is frozen for 8 s': (parts) => {
    const { pid } = someWorker(parts);
    return freeze([pid, ...childrenOf(pid)], 8000);
  },
  'kill -9 of the API': (parts) => endApi(parts, 'SIGKILL'),
  'SIGTERM to the API': (parts) => endApi(parts, 'SIGTERM'),
  'the API is frozen for 3 s': ({ world }) => freeze([world.api.pid], 3000),
  'kill -9 of Redis, down for 3 s': async ({ world }) => {
    await world.redis.kill();
    await pause(3000);
    await world.redis.restart();
  },
  'Redis is frozen for 4 s': async ({ world }) => {
    world.redis.freeze();
    await pause(4000);
    world.redis.thaw();
  },
  'all connections to Redis are reset': async ({ proxy }) => proxy.reset(),
  'the network to Redis is silent for 8 s': async ({ proxy }) => {
    proxy.silenceAll();
    await pause(8000);
    proxy.restore();
  },
  'Redis is full for 5 s': fillRedis,
  'the store answers 503 for 5 s': storeFault({ status: 503, code: 'SlowDown' }, 5000),
  'the store never answers for 5 s': storeFault('hang', 5000),
  'the store cuts its connections for 5 s': storeFault('cut', 5000),
  'the receiver of webhooks answers 503 for 3 s': receiverFault(503, 3000),
  'the receiver of webhooks never answers for 3 s': receiverFault('hang', 3000),
};

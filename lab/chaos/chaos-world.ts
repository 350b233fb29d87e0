/** All of Lehr as processes, for faults: an API, workers on simulated devices, Redis, a store, a webhook receiver, a history. */
import { randomBytes } from 'node:crypto';
import { mkdir, readdir } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { onTestFinished, vi } from 'vitest';
import { withoutDay } from '../../packages/shared/src/objects/made-at.ts';
import { keysOf } from '../../packages/shared/src/redis/index.ts';
import { type LehrProcess, startLehr } from '../../test/support/lehr-process.ts';
import { freePort } from '../../test/support/ports.ts';
import { startRedis, type TestRedis } from '../../test/support/redis-server.ts';
import {
  type SimulatedWorkerOptions,
  startSimulatedWorker,
} from '../../test/support/start-simulated-worker.ts';
import { tempFolder, tinyModels } from '../../test/support/tiny-models.ts';
import { type WebhookReceiver, webhookReceiver } from '../../test/support/webhook-receiver.ts';
import { History } from './history.ts';
import { RecordedClient } from './recorded-client.ts';
import { keysWith, testConnection } from './redis-admin.ts';
import type { ScriptedS3 } from './scripted-s3.ts';

export interface ChaosWorldOptions {
  /** Default: a server of its own. After a failover, the one that holds the data. */
  readonly redis?: TestRedis;
  /** For the processes, where it is not the URL of `redis`: a proxy, or the name of a master. */
  readonly redisUrl?: string;
  readonly s3?: ScriptedS3;
  /** The folder of the installation, if it has to be a certain one. */
  readonly home?: string;
  /** More variables of API processes and of workers as they ship. */
  readonly env?: Readonly<Record<string, string>>;
}

export interface ChaosWorld {
  readonly redis: TestRedis;
  readonly namespace: string;
  readonly home: string;
  readonly modelsFile: string;
  readonly url: string;
  readonly history: History;
  readonly client: RecordedClient;
  readonly receiver: WebhookReceiver;
  /** The webhook of a job. */
  readonly webhook: { readonly url: string };
  /** The API process that was started last. */
  readonly api: LehrProcess;
  /** Starts an API process on the port of the world; the one before must have ended. */
  startApi(env?: Readonly<Record<string, string>>): Promise<LehrProcess>;
  /** Starts the program of the worker as it ships, on the CPU. */
  shippedWorker(env?: Readonly<Record<string, string>>, nodeFlags?: readonly string[]): Promise<LehrProcess>;
  /** Starts a worker on a simulated device. Its leases are short unless the options say otherwise. */
  worker(options?: Partial<SimulatedWorkerOptions>): Promise<LehrProcess>;
  /** The keys of all objects in the store. */
  storedObjects(): Promise<string[]>;
  /** The keys of all outputs in the store. */
  storedOutputs(): Promise<string[]>;
  /** The names of all keys of this installation in Redis. */
  redisKeys(): Promise<string[]>;
}

/** Three seconds, renewed every half; a lost job is recovered within the lease and two janitor rounds. */
export const SHORT_LEASE = {
  leaseMs: 3000,
  stalledCheckMs: 1000,
  times: { renewEveryMs: 500, janitorEveryMs: 500 },
} as const;

/** As by default. For rows in which no lease may run out, also when the machine stalls. */
export const LONG_LEASE = {
  leaseMs: 30_000,
  stalledCheckMs: 5000,
  times: { renewEveryMs: 5000, janitorEveryMs: 5000 },
} as const;

/** One step takes about 40 ms, so that a fault can meet the middle of a run. */
export const SLOW_STEPS = { stepBaseMs: 30, stepPerRowMs: 2, pictureMs: 5, textMs: 1 } as const;

/** For a worker that only has to finish what another one left. */
export const QUICK_STEPS = { stepBaseMs: 1, stepPerRowMs: 0, pictureMs: 1, textMs: 1 } as const;

/** Of a shipped worker. */
const ON_CPU = { LEHR_WORKER_PORT: '0', LEHR_DEVICE: 'cpu', LEHR_ROW_CAP: '16', LEHR_THREADS: '1' };

export async function chaosWorld(options: ChaosWorldOptions = {}): Promise<ChaosWorld> {
  const { redis = await ownRedis(), redisUrl = redis.url, s3, env = {} } = options;
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const key = `lehr_test_${randomBytes(24).toString('hex')}`;
  const namespace = `chaos-${randomBytes(4).toString('hex')}`;
  const home = options.home ?? (await tempFolder('home'));
  const modelsFile = await tinyModels();
  const history = new History();
  const client = new RecordedClient({ url: () => url, key, history });
  const receiver = await webhookReceiver();
  const shared = {
    LEHR_HOME: home,
    LEHR_REDIS_URL: redisUrl,
    LEHR_NAMESPACE: namespace,
    LEHR_MODELS: modelsFile,
    LEHR_PORT: `${port}`,
    LEHR_API_KEY: key,
    LEHR_EGRESS_ALLOW: '*',
    // Workers sign no links; all API processes share this one.
    LEHR_STORE_SECRET: 'x'.repeat(32),
    ...s3?.env,
    ...env,
  };
  let api: LehrProcess;
  const startApi: ChaosWorld['startApi'] = async (more = {}) => {
    api = startLehr('api', { ...shared, ...more });
    await ready(client);
    return api;
  };
  const where = {
    redisUrl,
    namespace,
    modelsFile,
    home,
    ...(s3 && storeOf(s3)),
  };
  const storedObjects = async () => (s3 ? [...s3.objects.keys()] : objectsIn(home));
  api = await startApi();
  await mkdir(join(home, 'objects'), { recursive: true });
  return {
    redis,
    namespace,
    home,
    modelsFile,
    url,
    history,
    client,
    receiver,
    webhook: { url: receiver.url },
    get api() {
      return api;
    },
    startApi,
    shippedWorker: async (more = {}, nodeFlags = []) => {
      const worker = startLehr('worker', { ...shared, ...ON_CPU, ...more }, nodeFlags);
      await worker.logged('worker serves');
      return worker;
    },
    worker: ({ times, ...more } = {}) =>
      startSimulatedWorker({ ...where, ...SHORT_LEASE, ...more, times: { ...SHORT_LEASE.times, ...times } }),
    storedObjects,
    storedOutputs: async () => (await storedObjects()).filter((each) => each.startsWith('out/')),
    redisKeys: () => keysIn(redis, namespace),
  };
}

async function ready(client: RecordedClient): Promise<void> {
  await vi.waitFor(async () => {
    const response = await client.ask('GET', '/readyz');
    if (response.status !== 200) throw new Error(`the API is not ready: ${await response.text()}`);
  }, 120_000);
}

/** Of a simulated worker. */
const storeOf = ({ endpoint, bucket, region, env }: NonNullable<ChaosWorldOptions['s3']>) => ({
  s3: { endpoint, bucket, region },
  env,
});

async function keysIn({ url }: TestRedis, namespace: string): Promise<string[]> {
  const admin = await testConnection(url);
  return keysWith(admin, keysOf(namespace).prefix).finally(() => admin.disconnect());
}

async function ownRedis(): Promise<TestRedis> {
  const redis = await startRedis();
  onTestFinished(() => redis.stop());
  return redis;
}

/** The folder store writes each object to a file whose name ends in `,object`. */
async function objectsIn(home: string): Promise<string[]> {
  const objects = join(home, 'objects');
  const entries = await readdir(objects, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && entry.name.endsWith(',object'))
    .map(({ parentPath, name }) => relative(objects, join(parentPath, name)))
    .map((path) => withoutDay(path.replace(/,object$/, '')));
}

/** Jobs on an installation of Lehr, with what the invariants of the fault suite need to judge them. */
import { vi } from 'vitest';
import { openObjectStore } from '../packages/shared/src/objects/index.ts';
import type { Received } from '../test/support/webhook-receiver.ts';
import { History } from './chaos/history.ts';
import { type JudgedWorld, judge, type Verdict } from './chaos/invariants.ts';
import { type JobFields, RecordedClient } from './chaos/recorded-client.ts';

/** Of objects that belong to a job. */
const PREFIXES = ['out/', 'in/', 'checkpoints/'];
const SETTLE_MS = 90_000;
export const PROMPT = 'a red circle on a blue background';
export const JOBS = 4;

export interface Installation {
  readonly api: string;
  readonly key: string;
  readonly s3: { readonly endpoint: string; readonly id: string; readonly secret: string };
  /** Where webhooks are sent. */
  readonly hook: string;
  /** Filled by whoever receives them. */
  readonly received: Received[];
  redisKeys(): Promise<string[]>;
}

export interface Scene {
  readonly client: RecordedClient;
  readonly received: readonly Received[];
  readonly key: string;
  /** Jobs that take a while, each with a webhook; larger pictures take longer. */
  slowJobs(count: number, size?: number): Promise<string[]>;
  /** Jobs of 20 seconds and more, and those among them that have drawn a step and have most of their steps left. */
  running(count?: number): Promise<{ readonly ids: string[]; readonly begun: string[] }>;
  /** Removes the jobs that a failed scene left. Before the first scene there is no API. */
  clear(): Promise<void>;
  /** For a scene that loses its jobs on purpose. */
  forget(): void;
  judged(): Promise<Verdict>;
}

/** A scene begins with no job, no object and no webhook of the one before. */
export async function sceneOn({ api, key, s3, hook, received, redisKeys }: Installation): Promise<Scene> {
  Object.assign(process.env, { AWS_ACCESS_KEY_ID: s3.id, AWS_SECRET_ACCESS_KEY: s3.secret });
  const { endpoint } = s3;
  const store = await openObjectStore({ kind: 's3', bucket: 'lehr', region: 'us-east-1', endpoint });
  const history = new History();
  const client = new RecordedClient({ url: () => api, key, history });
  const storedObjects = async (): Promise<string[]> => {
    const keys: string[] = [];
    for (const prefix of PREFIXES) for await (const each of store.list(prefix)) keys.push(each);
    return keys;
  };
  const world: JudgedWorld = {
    history,
    client,
    receiver: { received },
    storedObjects,
    storedOutputs: async () => (await storedObjects()).filter((each) => each.startsWith('out/')),
    redisKeys,
  };
  const slowJobs: Scene['slowJobs'] = (count, size = 256) =>
    client.submitMany(count, (seed) => slow(hook, seed, size));
  received.length = 0;
  return {
    client,
    received,
    key,
    slowJobs,
    running: async (count = JOBS) => begunOf(client, await slowJobs(count, 512)),
    clear: () => clear(client),
    forget: () => {
      history.submissions.length = 0;
      history.sightings.length = 0;
    },
    judged: () => judge(world, { drainMs: 900_000, settleMs: SETTLE_MS }),
  };
}

async function begunOf(client: RecordedClient, ids: string[]): Promise<{ ids: string[]; begun: string[] }> {
  const begin = async (): Promise<false | string[]> => {
    const jobs = await Promise.all(ids.map((id) => client.read(id)));
    const fractions = jobs.map((job) => job?.progress?.fraction ?? 0);
    const begun = ids.filter((_, place) => fractions[place] > 0 && fractions[place] < 0.5);
    return begun.length > 0 && begun;
  };
  return { ids, begun: await vi.waitUntil(begin, { timeout: 600_000, interval: 100 }) };
}

async function clear(client: RecordedClient): Promise<void> {
  for (const id of await client.list().catch(() => [])) {
    await client.cancel(id).catch(() => {});
    await client.remove(id).catch(() => {});
  }
}

const slow = (hook: string, seed: number, size: number): JobFields => ({
  input: { prompt: PROMPT, steps: 100, width: size, height: size, seed },
  webhook: { url: hook, events: ['job.succeeded', 'job.failed'] },
  deadline_s: 1800,
});

/** What a webhook receiver got, as the invariants read it. */
export const delivery = (headers: Record<string, string>, body: string): Received => ({
  id: headers['webhook-id'] ?? '',
  timestamp: Number(headers['webhook-timestamp']),
  signature: headers['webhook-signature'] ?? '',
  headers,
  body,
  at: performance.now(),
  answer: 204,
});

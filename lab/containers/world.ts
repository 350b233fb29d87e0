/** Lehr in containers as its callers see it, with what the invariants of the fault suite need to judge it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { openObjectStore } from '../../packages/shared/src/objects/index.ts';
import { History } from '../../test/chaos/history.ts';
import { type JudgedWorld, judge, type Verdict } from '../../test/chaos/invariants.ts';
import { type JobFields, RecordedClient } from '../../test/chaos/recorded-client.ts';
import type { Received } from '../../test/support/webhook-receiver.ts';
import { compose, containersOf, secrets } from './compose.ts';

export const API = 'http://127.0.0.1:8080';
export const READY = 'http://127.0.0.1:9465/readyz';
const S3 = 'http://127.0.0.1:8333';
export const HOOK = 'http://receiver:8000/hook';
/** Of objects that belong to a job. */
const PREFIXES = ['out/', 'in/', 'checkpoints/'];
const SETTLE_MS = 90_000;

export interface Scene {
  readonly client: RecordedClient;
  readonly received: readonly Received[];
  readonly key: string;
  /** Reads what the receiver of webhooks has printed and prints. */
  follow(): Promise<void>;
  /** Jobs that take a while, each with a webhook; larger pictures take longer. */
  slowJobs(count: number, size?: number): Promise<string[]>;
  /** For a scene that loses its jobs on purpose. */
  forget(): void;
  judged(): Promise<Verdict>;
}

const received: Received[] = [];
let follower: ChildProcess | undefined;

/** A scene begins with no job, no object and no webhook of the one before. */
export async function newScene(): Promise<Scene> {
  const { LEHR_API_KEY: key, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, REDIS_OPERATOR_PASSWORD } = secrets();
  Object.assign(process.env, { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY });
  const store = await openObjectStore({ kind: 's3', bucket: 'lehr', region: 'us-east-1', endpoint: S3 });
  const history = new History();
  const client = new RecordedClient({ url: () => API, key, history });
  const storedObjects = async (): Promise<string[]> => {
    const keys: string[] = [];
    for (const prefix of PREFIXES) for await (const key of store.list(prefix)) keys.push(key);
    return keys;
  };
  const world: JudgedWorld = {
    history,
    client,
    receiver: { received },
    storedObjects,
    storedOutputs: async () => (await storedObjects()).filter((each) => each.startsWith('out/')),
    redisKeys: async () => {
      const login = ['--user', 'operator', '--pass', REDIS_OPERATOR_PASSWORD, '--no-auth-warning'];
      return (await compose('exec', '-T', 'redis', 'redis-cli', ...login, '--scan'))
        .split('\n')
        .filter(Boolean);
    },
  };
  received.length = 0;
  return {
    client,
    received,
    key,
    follow,
    slowJobs: async (count, size = 256) => {
      await follow();
      return client.submitMany(count, (seed) => slow(seed, size));
    },
    forget: () => {
      history.submissions.length = 0;
      history.sightings.length = 0;
    },
    judged: async () => {
      await follow();
      return judge(world, { drainMs: 900_000, settleMs: SETTLE_MS });
    },
  };
}

const slow = (seed: number, size: number): JobFields => ({
  input: { prompt: 'a red circle on a blue background', steps: 100, width: size, height: size, seed },
  webhook: { url: HOOK, events: ['job.succeeded', 'job.failed'] },
  deadline_s: 1800,
});

/** Reads what the receiver prints, again after every restart of its container. */
async function follow(): Promise<void> {
  if (follower && follower.exitCode === null) return;
  const [container] = await containersOf('receiver');
  if (container === undefined) return;
  follower = spawn('/usr/bin/docker', ['logs', '--follow', container], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  if (follower.stdout) createInterface(follower.stdout).on('line', (line) => note(JSON.parse(line)));
}

function note({ headers, body }: { headers: Record<string, string>; body: string }): void {
  received.push({
    id: headers['webhook-id'] ?? '',
    timestamp: Number(headers['webhook-timestamp']),
    signature: headers['webhook-signature'] ?? '',
    headers,
    body,
    at: performance.now(),
    answer: 204,
  });
}

export const endFollowing = (): void => void follower?.kill();

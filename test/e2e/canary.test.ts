/** A bad version rolls back by itself: real API processes, real workers of both versions, and the judging process killed on the way. */
import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ChaosWorld, chaosWorld, LONG_LEASE } from '../../lab/chaos/chaos-world.ts';
import { type Job, Lehr, type Rollout } from '../../packages/client/src/index.ts';
import { NAN_PROMPT } from '../support/faulty-device.ts';
import { startLehr } from '../support/lehr-process.ts';
import { startRedis, type TestRedis } from '../support/redis-server.ts';
import { tinyModels } from '../support/tiny-models.ts';
import { verified, type WebhookReceiver, webhookReceiver } from '../support/webhook-receiver.ts';

let redis: TestRedis;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());

const SECRET = `whsec_${randomBytes(32).toString('base64')}`;
/** Jobs of the canary within which it must be rolled back; docs/rollouts.md has what to expect. */
const MOST_CANARY_JOBS = 150;
const AT_ONCE = 4;
const LATENCY = { stepBaseMs: 20, stepPerRowMs: 0, pictureMs: 2, textMs: 1 };

const modelsText = (versions: string): string => `models:
  - name: tiny
    task: diffusion
    default: true
    versions: [${versions}]
    defaults: { width: 64, height: 64, steps: 4, guidance: 1, sampler: ddim }
`;

async function modelsFiles(): Promise<Readonly<Record<'both' | 'stable' | 'canary', string>>> {
  const folder = dirname(await tinyModels());
  const files = {
    both: '{ version: "1", path: tiny }, { version: "2", path: tiny, weight: 0 }',
    stable: '{ version: "1", path: tiny }',
    canary: '{ version: "2", path: tiny }',
  };
  const write = async ([name, versions]: [string, string]) => {
    const path = join(folder, `${name}.yaml`);
    await writeFile(path, modelsText(versions));
    return [name, path];
  };
  return Object.fromEntries(await Promise.all(Object.entries(files).map(write)));
}

interface CanaryWorld extends ChaosWorld {
  /** Clients of the process that judges and is killed, and of the other one. */
  readonly first: Lehr;
  readonly second: Lehr;
  /** Kills the process that judges; the other one continues. */
  killJudge(): Promise<void>;
  readonly operator: WebhookReceiver;
}

/** Two API processes, and a worker for each version. */
async function canaryWorld(canary: Parameters<ChaosWorld['worker']>[0]): Promise<CanaryWorld> {
  const files = await modelsFiles();
  const operator = await webhookReceiver();
  const env = {
    LEHR_MODELS: files.both,
    LEHR_OPERATOR_WEBHOOK_URL: operator.url,
    LEHR_OPERATOR_WEBHOOK_SECRET: SECRET,
  };
  const world = await chaosWorld({ redis, env });
  const { home, namespace, client } = world;
  const second = startLehr('api', {
    ...env,
    LEHR_HOME: home,
    LEHR_REDIS_URL: redis.url,
    LEHR_NAMESPACE: namespace,
    LEHR_PORT: '0',
    LEHR_API_KEY: client.key,
    LEHR_EGRESS_ALLOW: '*',
    LEHR_STORE_SECRET: 'x'.repeat(32),
  });
  const { url } = await second.logged('API is listening');
  await Promise.all([
    world.worker({ ...LONG_LEASE, modelsFile: files.stable, latency: LATENCY }),
    world.worker({ ...LONG_LEASE, modelsFile: files.canary, latency: LATENCY, ...canary }),
  ]);
  // It sleeps until the other one judges, so that the test knows which one to kill.
  second.signal('SIGSTOP');
  return {
    ...world,
    operator,
    first: new Lehr({ url: world.url, apiKey: client.key }),
    second: new Lehr({ url: String(url), apiKey: client.key }),
    killJudge: async () => {
      await world.api.logged('judges rollouts');
      second.signal('SIGCONT');
      world.api.signal('SIGKILL');
      await world.api.exited();
      await second.logged('judges rollouts');
    },
  };
}

const post = (lehr: Lehr, prompt: string): Promise<Job> =>
  lehr.submit({ type: 'text-to-image', model: 'tiny', input: { prompt, seed: 1 } });

/** Every fifth prompt makes invalid numbers on a faulty engine. */
const promptOf = (i: number): string => (i % 5 === 0 ? NAN_PROMPT : 'a red circle');

/** Posts jobs, a few at once, kills the judging process with jobs in hand, and goes on until the rollout is over. */
async function runUntilDecided(
  world: CanaryWorld,
): Promise<{ readonly jobs: Job[]; readonly rollout: Rollout }> {
  const { first, second } = world;
  const posted = await Promise.all(Array.from({ length: 20 }, (_, i) => post(first, promptOf(i))));
  await world.killJudge();
  const ids = posted.map(({ id }) => id);
  let rollout = await second.rollouts.get('tiny');
  while (rollout.state === 'running' && rollout.outcomes.canary.jobs < MOST_CANARY_JOBS) {
    const some = await Promise.all(
      Array.from({ length: AT_ONCE }, (_, i) => post(second, promptOf(ids.length + i))),
    );
    await Promise.all(some.map(({ id }) => second.wait(id)));
    ids.push(...some.map(({ id }) => id));
    rollout = await second.rollouts.get('tiny');
  }
  const jobs = await Promise.all(ids.map((id) => second.wait(id)));
  return { jobs, rollout: await second.rollouts.get('tiny') };
}

async function operatorEvents({ operator }: CanaryWorld, count: number): Promise<object[]> {
  const received = await operator.until(count);
  for (const each of received) expect(await verified(each, SECRET)).toBe(true);
  const byId = new Map(received.map((each) => [each.id, JSON.parse(each.body) as object]));
  return [...byId.values()];
}

test('A version that fails one job in five is rolled back, although the process that judges it is killed, and no job is lost', {
  tags: ['long'],
}, async () => {
  const world = await canaryWorld({ faulty: true });
  await world.first.rollouts.deploy('tiny', {
    version: '2',
    weight: 30,
    sticky_by: 'job',
    reason: 'sharper',
  });
  const { jobs, rollout } = await runUntilDecided(world);
  expect(rollout).toMatchObject({ state: 'rolled-back', changed_by: 'lehr' });
  expect(rollout.reason).toMatch(
    /^\d+ of \d+ canary jobs failed, 0 of \d+ stable ones; evidence \d+, limit 400$/,
  );
  expect(rollout.history.map(({ action, by }) => [action, by])).toEqual([
    ['rolled-back', 'lehr'],
    ['deployed', 'root'],
  ]);
  const ends = new Set(jobs.map(({ model, status, error }) => `${model} ${status} ${error?.code ?? ''}`));
  expect([...ends].sort()).toEqual(['tiny@1 succeeded ', 'tiny@2 failed numeric-error', 'tiny@2 succeeded ']);
  const [deployed, rolledBack] = await operatorEvents(world, 2);
  expect(deployed).toMatchObject({
    type: 'rollout.deployed',
    data: { model: 'tiny', by: 'root', weight: 30 },
  });
  const data = {
    model: 'tiny',
    by: 'lehr',
    reason: rollout.reason,
    stable: '1',
    canary: '2',
    state: 'rolled-back',
  };
  expect(rolledBack).toMatchObject({ type: 'rollout.rolled-back', data });
});

test('A version that takes twice as long is rolled back, although the process that judges it is killed, and no job is lost', {
  tags: ['long'],
}, async () => {
  const world = await canaryWorld({ latency: { ...LATENCY, stepBaseMs: 2 * LATENCY.stepBaseMs } });
  await world.first.rollouts.deploy('tiny', { version: '2', weight: 50, sticky_by: 'job' });
  const { jobs, rollout } = await runUntilDecided(world);
  expect(rollout).toMatchObject({ state: 'rolled-back', changed_by: 'lehr' });
  expect(rollout.reason).toMatch(
    /^of \d+ canary jobs \d+ took more than 1\.25 times as long as a comparable stable one; evidence \d+, limit 400$/,
  );
  expect(new Set(jobs.map(({ status }) => status))).toEqual(new Set(['succeeded']));
  expect(rollout.history).toHaveLength(2);
});

/** What /metrics and the traffic say of rollouts, over the real API and Redis. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { versionShares } from '../../apps/api/src/rollouts/rollout.ts';
import { TrafficSchema } from '../../packages/shared/src/index.ts';
import { type ApiWorld, apiWorld } from '../support/api-world.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { postWith, QUEUE, rolloutWorld, succeedAfter } from '../support/rollout-world.ts';
import { storedRollout } from '../support/stored-rollout.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

/** The lines of the rollout gauges, in the order of the text. */
async function gaugesOf({ app }: Pick<ApiWorld, 'app'>): Promise<string[]> {
  const page = await (await app.request('/metrics')).text();
  return page.split('\n').filter((line) => /^lehr_rollout_(?:weight|jobs|failures)\{/.test(line));
}

const weights = async (world: Pick<ApiWorld, 'app'>): Promise<string[]> =>
  (await gaugesOf(world)).filter((line) => line.startsWith('lehr_rollout_weight'));

const weightLines = (stable: number, canary: number): string[] => [
  `lehr_rollout_weight{model="sd",version="1",role="stable"} ${stable}`,
  `lehr_rollout_weight{model="sd",version="2",role="canary"} ${canary}`,
];

test('The metrics have the share of both versions in every state, and none without a rollout', async () => {
  const world = await rolloutWorld(server.url);
  expect(await gaugesOf(world)).toEqual([]);
  await world.deploy({ version: '2', weight: 25 });
  expect(await weights(world)).toEqual(weightLines(0.75, 0.25));
  await world.change('paused');
  expect(await weights(world)).toEqual(weightLines(1, 0));
  await world.change('promoted');
  expect(await weights(world)).toEqual(weightLines(0, 1));
  await world.change('rolled-back');
  expect(await weights(world)).toEqual(weightLines(1, 0));
  expect((await world.ask('DELETE', '/v1/rollouts/sd')).status).toBe(204);
  expect(await gaugesOf(world)).toEqual([]);
});

test('Every API process shows the same jobs and failures of a rollout by version, and none of its ids', async () => {
  const world = await rolloutWorld(server.url);
  const { id } = await world.deploy({ version: '2', weight: 100 });
  for (let i = 0; i < 4; i += 1) await postWith(world.ask);
  await succeedAfter(world, await world.worker.take(QUEUE.canary), 100);
  for (const code of ['numeric-error', 'invalid-input', 'of-a-newer-version']) {
    const error = {
      code: code as 'internal',
      title: 'Failed',
      detail: 'as the test wants',
      retryable: false,
    };
    await world.worker.fail(await world.worker.take(QUEUE.canary), error);
  }
  const lines = await gaugesOf(world);
  const canary = 'model="sd",version="2",role="canary"';
  for (const line of [
    `lehr_rollout_jobs{${canary},outcome="succeeded"} 1`,
    `lehr_rollout_jobs{${canary},outcome="failed"} 3`,
    `lehr_rollout_jobs{${canary},outcome="canceled"} 0`,
    'lehr_rollout_jobs{model="sd",version="1",role="stable",outcome="succeeded"} 0',
    `lehr_rollout_failures{${canary},code="numeric-error",fault="service"} 1`,
    `lehr_rollout_failures{${canary},code="invalid-input",fault="caller"} 1`,
    `lehr_rollout_failures{${canary},code="other",fault="service"} 1`,
  ]) {
    expect(lines).toContain(line);
  }
  expect(lines.join('\n')).not.toContain(id);
  const { keys, registry } = world.parts;
  const other = await apiWorld(server.url, { keys, registry });
  expect(await gaugesOf(other)).toEqual(lines);
});

test('The traffic has the share of each version of a model with several', async () => {
  const world = await rolloutWorld(server.url);
  const shares = async () => {
    const { models } = TrafficSchema.parse(await (await world.ask('GET', '/v1/traffic')).json());
    return models.map(({ model, share }) => [model, share]);
  };
  expect(await shares()).toEqual([
    ['sd@1', 1],
    ['sd@2', 0],
    ['sd@3', 0],
  ]);
  await world.deploy({ version: '2', weight: 40 });
  // One reading serves all callers for a second.
  await expect.poll(shares).toEqual([
    ['sd@1', 0.6],
    ['sd@2', 0.4],
    ['sd@3', 0],
  ]);
});

test('Without a rollout, or when it names a version that is gone, the weights in models.yaml are the shares', () => {
  const versions = [
    { version: '1', path: 'a', weight: 3 },
    { version: '2', path: 'b', weight: 1 },
  ];
  const rollout = storedRollout({ stable: '9' });
  const byWeight = { '1': 0.75, '2': 0.25 };
  expect(Object.fromEntries(versionShares({ versions }, undefined))).toEqual(byWeight);
  expect(Object.fromEntries(versionShares({ versions }, rollout))).toEqual(byWeight);
  const lost = { ...rollout, stable: '1', canary: '9' };
  expect(Object.fromEntries(versionShares({ versions }, lost))).toEqual({ '1': 1, '2': 0 });
});

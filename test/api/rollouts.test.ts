/** Rollouts over the real API and Redis: who gets which version, who may change it, and what is kept of it. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { assignVersion, type StoredRollout } from '../../apps/api/src/rollouts/rollout.ts';
import type { Queue } from '../../packages/shared/src/index.ts';
import { expireOverdue, requeueLost } from '../../packages/shared/src/queue/index.ts';
import { redisNow } from '../../packages/shared/src/redis/index.ts';
import { problemOf } from '../support/api-world.ts';
import { keyHolder } from '../support/key-holder.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { postWith, QUEUE, rolloutWorld, succeedAfter } from '../support/rollout-world.ts';
import { storedRollout } from '../support/stored-rollout.ts';
import { watchCommands } from '../support/watch-commands.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

describe('The version of a job', () => {
  const versions = [
    { version: '1', path: 'a', weight: 1 },
    { version: '2', path: 'b', weight: 0 },
  ];
  const KEYS = 20_000;
  const chosen = (changes: Partial<StoredRollout> = {}): ReadonlySet<string> => {
    const keys = Array.from({ length: KEYS }, (_, i) => `key${i}`);
    const versionOf = (keyId: string) =>
      assignVersion(storedRollout(changes), versions, { keyId, tenant: 't', job: 'j' }, () => true)?.version;
    return new Set(keys.filter((keyId) => versionOf(keyId) === '2'));
  };

  test('The share of the canary among many keys is its weight within four standard deviations', () => {
    for (const weight of [0, 1, 10, 25, 50, 100]) {
      const share = weight / 100;
      const deviation = Math.sqrt(KEYS * share * (1 - share));
      expect(Math.abs(chosen({ weight }).size - KEYS * share), `${weight} %`).toBeLessThanOrEqual(
        4 * deviation,
      );
    }
  });

  test('A higher weight takes no key away from the canary, and another rollout chooses other keys', () => {
    const tenth = chosen();
    const fifth = chosen({ weight: 20 });
    expect([...tenth].filter((key) => !fifth.has(key))).toEqual([]);
    const other = [...chosen({ id: 'ro_2' })].filter((key) => tenth.has(key));
    expect(other.length).toBeLessThan(tenth.size / 5);
  });

  test('A key gets the same version with every job, and of many keys a tenth gets the canary', {
    timeout: 60_000,
  }, async () => {
    const world = await rolloutWorld(server.url);
    expect(await world.postAs(2, 2)).toEqual([
      ['sd@1', 'sd@1'],
      ['sd@1', 'sd@1'],
    ]);
    await world.deploy({ version: '2', weight: 10 });
    const models = await world.postAs(150, 2);
    for (const [first, second] of models) expect(second).toBe(first);
    const canaries = models.filter(([first]) => first === 'sd@2').length;
    // Binomial with 150 trials: outside these bounds with a probability of 1e-5.
    expect(canaries).toBeGreaterThanOrEqual(3);
    expect(canaries).toBeLessThanOrEqual(34);
  });

  test('A job that names its version gets it, is not counted, and a job in the queue keeps its version', async () => {
    const world = await rolloutWorld(server.url);
    const { rollouts, records } = world.parts;
    const before = await postWith(world.ask);
    const { id } = await world.deploy({ version: '2', weight: 100 });
    const named = await postWith(world.ask, { model: 'sd@1' });
    const canary = await postWith(world.ask);
    expect([before.model, named.model, canary.model]).toEqual(['sd@1', 'sd@1', 'sd@2']);
    await world.change('rolled-back', 'too soft');
    expect((await postWith(world.ask)).model).toBe('sd@1');
    expect((await records.read(canary.id as never))?.model).toBe('sd@2');
    await succeedAfter(world, await world.worker.take(QUEUE.canary), 100);
    for (let i = 0; i < 3; i += 1) await succeedAfter(world, await world.worker.take(QUEUE.stable), 100);
    const outcomes = await rollouts.outcomes(id);
    expect([...outcomes.canary.ends, ...outcomes.stable.ends]).toEqual([['succeeded', 1]]);
    expect((await world.get(canary.id)).status).toBe('succeeded');
  });

  test('Jobs that wait for the version that lost are run by its next worker, expire by their deadline, or are canceled', async () => {
    const world = await rolloutWorld(server.url);
    const { redis, keys, queues, records } = world.parts;
    await world.deploy({ version: '2', weight: 0.001, sticky_by: 'job' });
    const [waiting, dated, canceled] = [
      await postWith(world.ask),
      await postWith(world.ask, { deadline_s: 60 }),
      await postWith(world.ask),
    ];
    await world.serve('2');
    expect((await world.change('promoted')).status).toBe(200);
    const listed = async () => {
      const { data } = (await (await world.ask('GET', '/v1/queues')).json()) as { data: Queue[] };
      return data.find(({ model }) => model === 'sd@1');
    };
    await expect.poll(listed, { timeout: 10_000 }).toMatchObject({ waiting: 3, workers: 0 });
    const later = (await redisNow(redis)) + 61_000;
    expect(await requeueLost(redis, keys, queues, records, later)).toEqual([]);
    const expired = await expireOverdue(redis, keys, queues, records, later);
    expect(expired.map(({ id }) => id)).toEqual([dated.id]);
    expect((await world.ask('POST', `/v1/jobs/${canceled.id}/cancel`)).status).toBe(200);
    await world.serve('1', '2');
    const claim = await world.worker.take(QUEUE.stable);
    expect(claim.jobId).toBe(waiting.id);
    await succeedAfter(world, claim, 5);
    const ends = await Promise.all([waiting, dated, canceled].map(({ id }) => world.get(id)));
    expect(ends.map(({ status, model }) => [status, model])).toEqual([
      ['succeeded', 'sd@1'],
      ['expired', 'sd@1'],
      ['canceled', 'sd@1'],
    ]);
    expect(await listed()).toMatchObject({ waiting: 0, running: 0 });
  });

  test('A version without a live worker gets no jobs, also while its worker drains', async () => {
    const world = await rolloutWorld(server.url);
    await world.deploy({ version: '2', weight: 100 });
    expect((await postWith(world.ask)).model).toBe('sd@2');
    const { fleet } = world.parts;
    await world.serve('1');
    await expect.poll(async () => (await fleet.workers())[0].models.length, { timeout: 10_000 }).toBe(1);
    expect((await postWith(world.ask)).model).toBe('sd@1');
  });

  test('The nodes of a workflow and the calls of other dialects get the version of their key', async () => {
    const world = await rolloutWorld(server.url);
    await world.deploy({ version: '2', weight: 100 });
    const nodes = [
      { id: 'a', type: 'text-to-image', model: 'sd', input: { prompt: 'a circle' } },
      { id: 'b', type: 'text-to-image', model: 'sd@1', input: { prompt: 'a square' } },
    ];
    const workflow = await world.ask('POST', '/v1/jobs', { type: 'workflow', nodes });
    expect(((await workflow.json()) as { model: string }).model).toBe('sd@2+sd@1');
    const prediction = await world.ask('POST', '/v1/models/lehr/sd/predictions', {
      input: { prompt: 'a circle' },
    });
    expect(((await prediction.json()) as { version: string }).version).toBe('sd@2');
  });

  test('Posting jobs reads the rollouts at most once a second', async () => {
    const world = await rolloutWorld(server.url);
    await world.deploy({ version: '2', weight: 50 });
    const reads: string[] = [];
    await watchCommands(server.url, ({ args: [name, key] }) => {
      if (name === 'hgetall' && key === world.parts.keys.rollouts) reads.push(key);
    });
    const startedAt = performance.now();
    for (let i = 0; i < 40; i += 1) await postWith(world.ask);
    const seconds = (performance.now() - startedAt) / 1000;
    expect(reads.length).toBeLessThanOrEqual(Math.ceil(seconds) + 1);
  });
});

describe('Changing a rollout', () => {
  test('A damaged entry of the history is left out alone: the rollout is shown, and can be changed', async () => {
    const world = await rolloutWorld(server.url);
    await world.deploy({ version: '2', weight: 10 });
    const { redis, keys } = world.parts;
    for (const damaged of ['not JSON', '{"action":"deployed"}', ''])
      await redis.lpush(keys.rolloutHistory('sd'), damaged);
    expect((await world.change('paused')).status).toBe(200);
    expect((await world.rollout()).history.map(({ action }) => action)).toEqual(['paused', 'deployed']);
  });

  test('A rollout is deployed, raised, paused, resumed and promoted, and its history says who did it and why', async () => {
    const world = await rolloutWorld(server.url);
    const first = await world.deploy({ version: '2', weight: 10, reason: 'sharper hands' });
    expect(first).toMatchObject({ state: 'running', stable: '1', canary: '2', weight: 10 });
    expect(first.workers).toEqual({ stable: 1, canary: 1 });
    const raised = await world.deploy({ version: '2', weight: 50 });
    expect(raised).toMatchObject({ id: first.id, weight: 50 });
    for (const state of ['paused', 'running', 'promoted']) {
      const changed = await world.change(state, `to ${state}`);
      expect(await changed.json()).toMatchObject({ state, reason: `to ${state}` });
    }
    expect((await postWith(world.ask)).model).toBe('sd@2');
    const { history } = await world.rollout();
    expect(history.map(({ action, by, reason }) => [action, by, reason])).toEqual([
      ['promoted', 'root', 'to promoted'],
      ['resumed', 'root', 'to running'],
      ['paused', 'root', 'to paused'],
      ['changed', 'root', null],
      ['deployed', 'root', 'sharper hands'],
    ]);
    const audit = await world.ask('GET', '/v1/audit?action=rollout.promoted');
    expect(((await audit.json()) as { data: object[] }).data).toMatchObject([
      { actor: 'root', target: 'sd', changes: { stable: '1', canary: '2', state: 'promoted' } },
    ]);
    await world.serve('2', '3');
    expect(await world.deploy({ version: '3', weight: 5 })).toMatchObject({ stable: '2', canary: '3' });
  });

  test('While a rollout is paused all callers get the stable version, and afterwards the same ones the canary', async () => {
    const world = await rolloutWorld(server.url);
    await world.deploy({ version: '2', weight: 100 });
    await world.change('paused');
    expect((await postWith(world.ask)).model).toBe('sd@1');
    await world.change('running');
    expect((await postWith(world.ask)).model).toBe('sd@2');
  });

  test('A rollout that is removed leaves the decision to models.yaml', async () => {
    const world = await rolloutWorld(server.url);
    await world.deploy({ version: '2', weight: 100 });
    expect((await world.ask('DELETE', '/v1/rollouts/sd')).status).toBe(204);
    expect((await postWith(world.ask)).model).toBe('sd@1');
    expect((await world.ask('GET', '/v1/rollouts/sd')).status).toBe(404);
    expect((await world.ask('DELETE', '/v1/rollouts/sd')).status).toBe(404);
  });

  test('What cannot be is refused, with what is allowed', async () => {
    const world = await rolloutWorld(server.url);
    const refused = async (body: object): Promise<string> => {
      const { status, detail } = await problemOf(await world.put(body));
      return `${status}: ${detail}`;
    };
    expect(await refused({ version: '9', weight: 10 })).toBe('422: version must be one of: 1, 2, 3.');
    expect(await refused({ version: '2', weight: 101 })).toContain('weight');
    expect(await refused({ version: '2' })).toContain('weight must be more than 0');
    expect(await refused({ version: '1', weight: 10, stable: '1' })).toContain(
      'version is the stable version already; must be one of: 2, 3',
    );
    expect(await refused({ version: '1', weight: 10 })).toContain('stable must be given, as one of: 2, 3');
    expect(await refused({ version: '3', weight: 10 })).toBe(
      '409: No live worker serves sd@3. Start one first.',
    );
    expect((await problemOf(await world.change('promoted'))).status).toBe(404);
    await world.serve('1', '2', '3');
    await world.deploy({ version: '2', weight: 10 });
    expect(await refused({ version: '3', weight: 10 })).toContain('promote it or roll it back first');
    await world.change('rolled-back');
    expect((await problemOf(await world.change('promoted'))).detail).toContain(
      'none; deploy a version again',
    );
    const unknown = await world.ask('PUT', '/v1/rollouts/other', { version: '2', weight: 1 });
    expect(await problemOf(unknown)).toMatchObject({ title: 'Model not found', status: 404 });
  });

  test('A change that names an earlier rollout is refused, and leaves the new one as it is', async () => {
    const world = await rolloutWorld(server.url);
    await world.serve('1', '2', '3');
    const { id } = await world.deploy({ version: '2', weight: 10 });
    await world.change('promoted');
    const change = { state: 'promoted', rollout: id };
    expect((await world.ask('PATCH', '/v1/rollouts/sd', change)).status).toBe(200);
    const later = await world.deploy({ version: '3', weight: 10 });
    const { status, detail } = await problemOf(await world.ask('PATCH', '/v1/rollouts/sd', change));
    expect(`${status}: ${detail}`).toBe(`409: The rollout of sd is ${later.id} by now, not ${id}.`);
    expect(await world.rollout()).toMatchObject({ id: later.id, state: 'running' });
  });

  test('A key without the scope admin sees and changes no rollout', async () => {
    const world = await rolloutWorld(server.url);
    const { ask } = await keyHolder(world, 'acme');
    expect((await ask('GET', '/v1/rollouts')).status).toBe(403);
    expect((await ask('PUT', '/v1/rollouts/sd', { version: '2', weight: 10 })).status).toBe(403);
  });

  test('Two administrators at once leave one rollout, and each finds what the other did', async () => {
    const world = await rolloutWorld(server.url);
    await world.serve('1', '2', '3');
    const answers = await Promise.all([
      world.put({ version: '2', weight: 10 }),
      world.put({ version: '3', weight: 10 }),
    ]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
    expect((await world.rollout()).history).toHaveLength(1);
  });
});

/** What Lehr decides about rollouts by itself, over the real API and Redis: counting, rolling back, going on, once for all processes. */
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { runJudge } from '../../apps/api/src/rollouts/run-judge.ts';
import { type Rollout, silentLog } from '../../packages/shared/src/index.ts';
import type { StoredError } from '../../packages/shared/src/records/index.ts';
import { problemOf } from '../support/api-world.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import {
  postWith,
  QUEUE,
  type RolloutWorld,
  rolloutWorld,
  runJob,
  succeedAfter,
} from '../support/rollout-world.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const errorOf = (code: StoredError['code']): StoredError => ({
  code,
  title: code,
  detail: '',
  retryable: false,
});
const HALF = { version: '2', weight: 50, sticky_by: 'job' };
const WAIT = { timeout: 20_000 };

/** Judges in this process until the test ends, as `count` API processes would. */
function judge({ parts }: RolloutWorld, count = 1): void {
  for (let i = 0; i < count; i += 1) onTestFinished(runJudge({ ...parts, log: silentLog }));
}

/** Keeps the report of the worker alive while many jobs run. */
function keepServing(world: RolloutWorld): void {
  const timer = setInterval(() => void world.serve('1', '2'), 2000);
  onTestFinished(() => clearInterval(timer));
}

/** Runs jobs until the rollout is in another state, or `most` have run. Returns how many of the canary ran. */
async function runUntilDecided(
  world: RolloutWorld,
  most: number,
  endOf: Parameters<typeof runJob>[1],
): Promise<{ readonly rollout: Rollout; readonly canaryJobs: number }> {
  let canaryJobs = 0;
  for (let i = 0; i < most; i += 1) {
    canaryJobs += (await runJob(world, endOf)) === 'canary' ? 1 : 0;
    const rollout = await world.rollout();
    if (rollout.state !== 'running') return { rollout, canaryJobs };
  }
  await expect.poll(async () => (await world.rollout()).state, WAIT).not.toBe('running');
  return { rollout: await world.rollout(), canaryJobs };
}

describe('Counting', () => {
  test('An end that is reported twice, by the worker or by another one, is counted once', async () => {
    const world = await rolloutWorld(server.url);
    keepServing(world);
    await world.deploy({ ...HALF, weight: 100 });
    await postWith(world.ask);
    const claim = await world.worker.take(QUEUE.canary);
    const error = errorOf('engine-failed');
    const end = { move: 'fail', id: claim.jobId, lease: claim.token, fields: { error } } as const;
    const codes = [];
    for (let i = 0; i < 3; i += 1) codes.push((await world.worker.records.apply([end]))[0].code);
    codes.push((await world.parts.records.apply([{ ...end, lease: undefined }]))[0].code);
    expect(codes).toEqual(['ok', 'same', 'same', 'ended']);
    expect((await world.rollout()).analysis.canary).toEqual({ jobs: 1, failed: 1 });
  });

  test('Invalid numbers and runs that take too long are failures; what a caller caused is not counted', async () => {
    const world = await rolloutWorld(server.url);
    keepServing(world);
    await world.deploy({ ...HALF, weight: 100 });
    for (const code of ['numeric-error', 'run-too-long', 'invalid-audio', 'invalid-input'] as const)
      await runJob(world, () => errorOf(code));
    const canceled = await postWith(world.ask);
    await world.ask('POST', `/v1/jobs/${canceled.id}/cancel`);
    await runJob(world, () => 100);
    expect((await world.rollout()).analysis.canary).toEqual({ jobs: 3, failed: 2 });
  });

  test('Jobs are compared in pairs of one of each version, of the same class of size and batch', async () => {
    const world = await rolloutWorld(server.url);
    keepServing(world);
    await world.deploy(HALF);
    const run = (wanted: 'stable' | 'canary', ms: number, more?: Parameters<typeof runJob>[2]) =>
      runOn(world, wanted, ms, more);
    const pairs = async () => {
      const { slower, faster } = (await world.rollout()).analysis.pairs;
      return [slower, faster];
    };
    await run('stable', 100);
    await run('canary', 126);
    expect(await pairs()).toEqual([1, 0]);
    // A canary may take a quarter longer. The last stable job is the one that is compared, and each only once.
    await run('stable', 50);
    await run('stable', 100);
    await run('canary', 124);
    await run('canary', 900);
    expect(await pairs()).toEqual([1, 1]);
    await run('stable', 100);
    expect(await pairs()).toEqual([2, 1]);
    await run('stable', 100, { input: { steps: 50 } });
    await run('canary', 900);
    await run('stable', 100, { batchSize: 4 });
    expect(await pairs()).toEqual([2, 1]);
    await run('stable', 100);
    expect(await pairs()).toEqual([3, 1]);
    // In proportion to the size: 6 steps are expected to take three quarters of the time of 8.
    await run('stable', 100);
    await run('canary', 110, { input: { steps: 6 } });
    expect(await pairs()).toEqual([4, 1]);
  });

  test('What a job waited for others between its steps says nothing of its version, and a job without device time is not compared', async () => {
    const world = await rolloutWorld(server.url);
    keepServing(world);
    await world.deploy(HALF);
    const run = (wanted: 'stable' | 'canary', times: Parameters<typeof succeedAfter>[4]) =>
      runOn(world, wanted, 100, { times });
    await run('stable', {});
    await run('canary', { waitedMs: 900 });
    await run('stable', {});
    await run('canary', { isMeasured: false });
    expect((await world.rollout()).analysis.pairs).toMatchObject({ slower: 0, faster: 1 });
  });

  test('Jobs are not compared when their batches differ by more than a tenth', async () => {
    const world = await rolloutWorld(server.url);
    keepServing(world);
    await world.deploy(HALF);
    await runOn(world, 'stable', 100, { batchSize: 4 });
    await runOn(world, 'canary', 100, { batchSize: 5 });
    expect((await world.rollout()).analysis.pairs).toMatchObject({ slower: 0, faster: 0 });
    await runOn(world, 'canary', 100, { batchSize: 4.02 });
    expect((await world.rollout()).analysis.pairs).toMatchObject({ slower: 0, faster: 1 });
  });

  test('A change of the share counts from zero and keeps the evidence', async () => {
    const world = await rolloutWorld(server.url);
    keepServing(world);
    await world.deploy({ ...HALF, auto_rollback: false });
    for (let i = 0; i < 40; i += 1)
      await runJob(world, (side) => (side === 'canary' ? errorOf('internal') : 1));
    const before = (await world.rollout()).analysis;
    expect(before.evidence.failures).toBeGreaterThan(400);
    const repeated = await world.deploy({ version: '2', weight: 50, reason: 'as before' });
    expect(repeated.analysis).toEqual(before);
    const { analysis, outcomes } = await world.deploy({ version: '2', weight: 20 });
    expect(analysis.evidence.failures).toBe(before.evidence.failures);
    expect([analysis.canary.jobs, analysis.stable.jobs]).toEqual([0, 0]);
    expect(outcomes.canary.jobs).toBe(before.canary.jobs);
  });
});

/** Runs jobs until one gets this version; those of the other one are cancelled, and so not counted. */
async function runOn(
  world: RolloutWorld,
  wanted: 'stable' | 'canary',
  ms: number,
  {
    input = {},
    batchSize,
    times,
  }: Parameters<typeof runJob>[2] & { readonly times?: Parameters<typeof succeedAfter>[4] } = {},
): Promise<void> {
  const ref = wanted === 'canary' ? 'sd@2' : 'sd@1';
  for (;;) {
    const { id, model } = await postWith(world.ask, { input: { prompt: 'a red circle', ...input } });
    if (model === ref) break;
    await world.ask('POST', `/v1/jobs/${id}/cancel`);
  }
  await succeedAfter(world, await world.worker.take(QUEUE[wanted]), ms, batchSize, times);
}

describe('Deciding', () => {
  test('A version that fails is rolled back once by several processes, with the counts as the reason, and its waiting jobs still run', {
    timeout: 120_000,
  }, async () => {
    const world = await rolloutWorld(server.url);
    keepServing(world);
    await world.deploy({ ...HALF, reason: 'sharper hands' });
    // One more than the worker takes, so that a job of the canary still waits when it is rolled back.
    await postWith(world.ask, { model: 'sd@2' });
    judge(world, 3);
    let canary = 0;
    const { rollout } = await runUntilDecided(world, 300, (side) => {
      if (side === 'stable') return 100;
      canary += 1;
      return canary % 5 === 0 ? errorOf('engine-failed') : 100;
    });
    expect(rollout).toMatchObject({ state: 'rolled-back', changed_by: 'lehr' });
    expect(rollout.reason).toMatch(
      /^\d+ of \d+ canary jobs failed, 0 of \d+ stable ones; evidence \d+, limit 400$/,
    );
    expect(rollout.history.map(({ action, by }) => [action, by])).toEqual([
      ['rolled-back', 'lehr'],
      ['deployed', 'root'],
    ]);
    const audit = await world.ask('GET', '/v1/audit?action=rollout.rolled-back');
    expect(((await audit.json()) as { data: object[] }).data).toMatchObject([
      { actor: 'lehr', address: null, target: 'sd', changes: { reason: rollout.reason } },
    ]);
    const left = await world.worker.take(QUEUE.canary);
    await succeedAfter(world, left, 100);
    expect((await world.get(left.jobId)).status).toBe('succeeded');
    expect((await postWith(world.ask)).model).toBe('sd@1');
  });

  test('A version that takes twice as long is rolled back, also when one worker serves both versions, and is not when that is switched off', {
    timeout: 120_000,
  }, async () => {
    const world = await rolloutWorld(server.url);
    keepServing(world);
    await world.deploy({ ...HALF, auto_rollback: false });
    judge(world);
    for (let i = 0; i < 60; i += 1) await runJob(world, (side) => (side === 'canary' ? 200 : 100));
    const { analysis, state } = await world.rollout();
    expect(analysis.evidence.slowness).toBeGreaterThan(400);
    expect(state).toBe('running');
    await world.deploy({ version: '2', auto_rollback: true });
    const { rollout } = await runUntilDecided(world, 100, (side) => (side === 'canary' ? 200 : 100));
    expect(rollout.reason).toMatch(
      /^of \d+ canary jobs \d+ took more than 1\.25 times as long as a comparable stable one; /,
    );
  });

  test('A good version goes through its steps and is promoted, and says why', {
    timeout: 120_000,
  }, async () => {
    const world = await rolloutWorld(server.url);
    keepServing(world);
    const first = await world.deploy({
      version: '2',
      sticky_by: 'job',
      promote_after: 20,
      steps: [40, 60, 100],
    });
    expect(first).toMatchObject({ weight: 40, analysis: { promote_after: 20, steps: [40, 60, 100] } });
    judge(world);
    const { rollout } = await runUntilDecided(world, 400, () => 90 + 20 * Math.random());
    expect(rollout).toMatchObject({ state: 'promoted', changed_by: 'lehr', weight: 60 });
    expect(rollout.history.map(({ action, by, weight }) => [action, by, weight])).toEqual([
      ['promoted', 'lehr', 60],
      ['changed', 'lehr', 60],
      ['deployed', 'root', 40],
    ]);
    expect(rollout.reason).toMatch(/^\d+ canary jobs ended at 60 %, 0 of them failed; evidence /);
    expect((await postWith(world.ask)).model).toBe('sd@2');
  });

  test('A plan that cannot be followed is refused, with what is missing', async () => {
    const world = await rolloutWorld(server.url);
    const refused = async (body: object) =>
      (await problemOf(await world.put({ version: '2', ...body }))).detail;
    expect(await refused({ steps: [10, 50] })).toContain('steps needs promote_after');
    expect(await refused({ weight: 100, promote_after: 50 })).toContain('weight must be less than 100');
    expect(await refused({ steps: [50, 10], promote_after: 50 })).toContain('steps must rise');
    expect(await refused({ weight: 10, promote_after: 3 })).toContain('promote_after');
  });
});

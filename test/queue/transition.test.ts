import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  followJob,
  JOB_STATES,
  type JobId,
  type JobState,
  newLeaseToken,
} from '../../packages/shared/src/index.ts';
import { isTerminal, MOVES, type Move, type MoveName } from '../../packages/shared/src/records/index.ts';
import { newJob, type QueueWorld, queueWorld } from '../support/queue-world.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const OUTPUT = { images: [] };
const METRICS = {
  queue_ms: 1,
  run_ms: 1,
  total_ms: 2,
  batch_size: 1,
  worker: 'w',
  timings: { queued: 1, admitted: 0, text: 0, denoise: 1, decode: 0, encode: 0, upload: 0 },
};
const ERROR = { code: 'numeric-error', title: 'x', detail: 'y', retryable: false };
const FIELDS: Partial<Record<MoveName, Move['fields']>> = {
  start: { worker: 'w' },
  succeed: { output: OUTPUT, metrics: METRICS },
  fail: { error: ERROR },
};

/** Brings a new job into a state by legal moves; the lease is that of its only attempt, if it has one. */
async function jobIn(
  world: QueueWorld,
  state: JobState,
): Promise<{ id: JobId; lease: ReturnType<typeof newLeaseToken> }> {
  const lease = newLeaseToken(world.worker);
  if (state === 'scheduled') {
    const job = newJob({ run_at: Date.now() + 60_000 });
    await world.records.create(job, async () => {});
    return { id: job.id, lease };
  }
  const id = await world.submit();
  if (state === 'queued') return { id, lease };
  await world.records.apply([{ move: 'start', id, lease, fields: FIELDS.start }]);
  const end = (Object.keys(MOVES) as MoveName[]).find(
    (move) => MOVES[move].to === state && isTerminal(state),
  );
  if (end) await world.records.apply([{ move: end, id, lease, fields: FIELDS[end] }]);
  expect((await world.records.read(id))?.state).toBe(state);
  return { id, lease };
}

test('Every move from every state does what the table of moves says and nothing else', async () => {
  const world = await queueWorld(server.url);
  for (const state of JOB_STATES) {
    for (const move of Object.keys(MOVES) as MoveName[]) {
      const { id, lease } = await jobIn(world, state);
      const before = await world.records.read(id);
      const namesItsLease = state === 'running' && move !== 'start';
      const [outcome] = await world.records.apply([
        { move, id, lease: namesItsLease ? lease : newLeaseToken(world.worker), fields: FIELDS[move] },
      ]);
      const after = await world.records.read(id);
      const legal = (MOVES[move].from as readonly JobState[]).includes(state);
      if (legal) {
        expect(outcome, `${move} from ${state}`).toMatchObject({ code: 'ok', state: MOVES[move].to });
        expect(after).toMatchObject({ state: MOVES[move].to, rev: (before?.rev ?? 0) + 1 });
      } else {
        expect(outcome.code, `${move} from ${state}`).toBe(isTerminal(state) ? 'ended' : 'stale');
        expect(after, `${move} from ${state}`).toEqual(before);
      }
    }
  }
});

test('A record and its queued job are created together, once, even if the create is repeated', async () => {
  const world = await queueWorld(server.url);
  const job = newJob();
  const create = () => world.records.create(job, () => world.queues.of(job.queue).add(job, 5));
  expect(await create()).toMatchObject({ code: 'ok', state: 'queued', rev: 1 });
  expect(await create()).toMatchObject({ code: 'exists', state: 'queued', rev: 1 });
  expect(await world.claimer.findWork(['tiny@1'])).toMatchObject([{ waiting: 1 }]);
  expect(await world.records.read(job.id)).toMatchObject({
    ...JSON.parse(JSON.stringify(job)),
    state: 'queued',
    attempt: 0,
  });
});

test('A move of an older attempt is refused after a new attempt has started', async () => {
  const world = await queueWorld(server.url);
  const { id, lease } = await jobIn(world, 'running');
  const newer = newLeaseToken(world.worker);
  const [started] = await world.records.apply([{ move: 'start', id, lease: newer, fields: FIELDS.start }]);
  expect(started).toMatchObject({ code: 'ok', attempt: 2 });
  const outcomes = await world.records.apply([
    { move: 'progress', id, lease, fields: { progress: {} } },
    { move: 'succeed', id, lease, fields: FIELDS.succeed },
    { move: 'requeue', id, lease },
  ]);
  expect(outcomes.map((outcome) => outcome.code)).toEqual(['stale', 'stale', 'stale']);
  expect(await world.records.read(id)).toMatchObject({ state: 'running', attempt: 2, lease: newer });
});

test('A repeated move whose reply was lost is recognised and changes nothing', async () => {
  const world = await queueWorld(server.url);
  const id = await world.submit();
  const lease = newLeaseToken(world.worker);
  const start = { move: 'start', id, lease, fields: FIELDS.start } as const;
  const succeed = { move: 'succeed', id, lease, fields: FIELDS.succeed } as const;
  const outcomes = await world.records.apply([start, start, succeed, succeed]);
  expect(outcomes.map((outcome) => outcome.code)).toEqual(['ok', 'same', 'ok', 'same']);
  expect(outcomes[1].record).toMatchObject({ state: 'running', attempt: 1 });
  expect((await world.records.read(id))?.rev).toBe(3);
});

test('Cancelling a running job asks its worker, and the request lasts beyond the attempt', async () => {
  const world = await queueWorld(server.url);
  const id = await world.submit();
  const [claim] = await world.claim('diffusion.tiny@1.64x64', 1);
  await world.records.apply([{ move: 'start', id, lease: claim.token, fields: FIELDS.start }]);
  expect((await world.records.apply([{ move: 'cancel', id }]))[0]).toMatchObject({
    code: 'requested',
    state: 'running',
  });
  const [requeued] = await world.records.apply([{ move: 'requeue', id, lease: claim.token }]);
  expect(requeued).toMatchObject({ code: 'overtaken', state: 'canceled' });
});

test('A job whose deadline passed while it waited expires instead of starting', async () => {
  const world = await queueWorld(server.url);
  const id = await world.submit({ deadline_at: 1 });
  const [outcome] = await world.records.apply([{ move: 'start', id, lease: newLeaseToken(world.worker) }]);
  expect(outcome).toMatchObject({ code: 'overtaken', state: 'expired' });
});

test('An attempt that was handed back is not counted', async () => {
  const world = await queueWorld(server.url);
  const { id, lease } = await jobIn(world, 'running');
  const [back] = await world.records.apply([{ move: 'requeue', id, lease, refund: true }]);
  expect(back).toMatchObject({ code: 'ok', state: 'queued', attempt: 0 });
});

test('Events are numbered by the rev of the record and can be read from any point', async () => {
  const world = await queueWorld(server.url);
  const { id } = await jobIn(world, 'succeeded');
  const events = await world.records.events(id, 0);
  expect(events.map(({ rev, type }) => [rev, type])).toEqual([
    [1, 'job.queued'],
    [2, 'job.started'],
    [3, 'job.succeeded'],
  ]);
  expect((await world.records.events(id, 2)).map(({ rev }) => rev)).toEqual([3]);
});

test('The events of a job are the same before and after its end, whether they are stored or known from the record', async () => {
  const world = await queueWorld(server.url);
  for (const progressed of [0, 2]) {
    const { id, lease } = await jobIn(world, 'running');
    const progress = { move: 'progress', id, lease, fields: { progress: {} } } as const;
    await world.records.apply(Array.from({ length: progressed }, () => progress));
    const before = await world.records.events(id, 0);
    await world.records.apply([{ move: 'succeed', id, lease, fields: FIELDS.succeed }]);
    const after = await world.records.events(id, 0);
    const record = await world.records.read(id);
    expect(after.slice(0, -1)).toEqual(before);
    expect(after.at(-1)).toMatchObject({ rev: record?.rev, type: 'job.succeeded' });
    expect(after.at(-1)?.at).toBe(record && 'finished_at' in record && record.finished_at);
    const isStored = await world.redis.exists(world.keys.events(id));
    expect(isStored).toBe(progressed > 0 ? 1 : 0);
    if (isStored) expect(await world.redis.pttl(world.keys.events(id))).toBeGreaterThan(50_000);
  }
});

test('A job keeps its latest events, and an entry that a newer version wrote is left out', async () => {
  const world = await queueWorld(server.url);
  const { id, lease } = await jobIn(world, 'running');
  const progress = { move: 'progress', id, lease } as const;
  await world.records.apply(Array.from({ length: 600 }, () => progress));
  const events = await world.records.events(id, 0);
  expect(events).toHaveLength(512);
  expect(events.at(-1)?.rev).toBe(602);
  expect((await world.records.changes(id, 5, 3))?.events.map(({ rev }) => rev)).toEqual([91, 92, 93]);
  await world.redis.lset(world.keys.events(id), -1, '602 another form');
  expect((await world.records.events(id, 600)).map(({ rev }) => rev)).toEqual([601]);
});

test('The list of a tenant forgets jobs whose records have expired, and expires with the last record', async () => {
  const world = await queueWorld(server.url);
  const tenant = newJob().tenant;
  const jobs = world.keys.jobsOf(tenant);
  const old = [
    await jobIn(world, 'succeeded'),
    await jobIn(world, 'succeeded'),
    await jobIn(world, 'succeeded'),
  ];
  expect(await world.redis.pttl(jobs)).toBeGreaterThan(50_000);
  await world.redis.del(...old.map(({ id }) => world.keys.record(id)));
  const [first, second] = [await world.submit(), await world.submit()];
  expect(await world.redis.zrange(jobs, '0', '-1')).toEqual([first, second]);
  expect(await world.redis.pttl(jobs)).toBe(-1);
  await world.records.apply([{ move: 'cancel', id: first }]);
  expect(await world.redis.pttl(jobs)).toBe(-1);
  await world.records.apply([{ move: 'cancel', id: second }]);
  expect(await world.redis.pttl(jobs)).toBeGreaterThan(50_000);
});

test('The list of a tenant also forgets vanished jobs that are newer than one that still waits', async () => {
  const world = await queueWorld(server.url);
  const jobs = world.keys.jobsOf(newJob().tenant);
  const waiting = await world.submit();
  await world.redis.hset(world.keys.record(waiting), 'created_at', 1);
  const vanished = await Promise.all(Array.from({ length: 30 }, () => world.submit()));
  await world.redis.del(...vanished.map((id) => world.keys.record(id)));
  const newer = await Promise.all(Array.from({ length: 100 }, () => world.submit()));
  const listed = await world.redis.zrange(jobs, '0', '-1');
  expect(listed).toEqual(expect.arrayContaining([waiting, ...newer]));
  // Which ones are looked up is chosen at random; on average less than one is left.
  expect(listed.length - 101).toBeLessThan(15);
});

test('A finished record expires after its retention, an unfinished one never', async () => {
  const world = await queueWorld(server.url);
  const { id } = await jobIn(world, 'running');
  expect(await world.redis.pttl(world.keys.record(id))).toBe(-1);
  await world.records.apply([{ move: 'cancel', id }]);
  expect(await world.redis.pttl(world.keys.record(id))).toBeGreaterThan(50_000);
  expect(await world.redis.zscore(world.keys.live, id)).toBeNull();
});

test('A start and every progress report whether a caller follows the job or its workflow', async () => {
  const world = await queueWorld(server.url);
  const parent = await world.submit();
  const ids = [await world.submit(), await world.submit({ parent, node: 'picture' })];
  for (const [i, followed] of [ids[0], parent].entries()) {
    const lease = newLeaseToken(world.worker);
    const start = { move: 'start', id: ids[i], lease, fields: FIELDS.start } as const;
    expect(await world.records.apply([start])).toMatchObject([
      { code: 'ok', followed: false, watched: false },
    ]);
    const again = { move: 'progress', id: ids[i], lease } as const;
    await followJob(world.redis, world.keys, followed, false);
    expect(await world.records.apply([again])).toMatchObject([{ followed: true, watched: false }]);
    await followJob(world.redis, world.keys, followed);
    const progress = { move: 'progress', id: ids[i], lease } as const;
    expect(await world.records.apply([progress, start])).toMatchObject([
      { code: 'ok', followed: true, watched: true },
      { code: 'same', watched: true, record: { id: ids[i] } },
    ]);
  }
  expect(await world.redis.pttl(world.keys.watched(parent))).toBeGreaterThan(5000);
});

test('The events after a rev are read together with the state of the record, up to a limit', async () => {
  const world = await queueWorld(server.url);
  const { id } = await jobIn(world, 'succeeded');
  const changes = await world.records.changes(id, 1, 1);
  expect(changes).toMatchObject({ state: 'succeeded', rev: 3, events: [{ rev: 2, type: 'job.started' }] });
  expect(await world.records.changes(id, 3, 10)).toMatchObject({ rev: 3, events: [] });
  expect(await world.records.changes('job_01jd3v9s6w0000000000000000' as JobId, 0, 10)).toBeUndefined();
});

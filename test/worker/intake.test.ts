/** What the intake claims from a real Redis, and which leases it keeps. No engine runs behind it. */
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import type { WhisperAbilities } from '../../apps/worker/src/engine/protocol/messages.ts';
import type { StopReason } from '../../apps/worker/src/parent/delivery/attempt.ts';
import { Attempts, MAX_ATTEMPTS } from '../../apps/worker/src/parent/intake/attempts.ts';
import { Intake } from '../../apps/worker/src/parent/intake/intake.ts';
import { InputShares, MOST_OF_TENANT } from '../../apps/worker/src/parent/runs/input-shares.ts';
import type { JobRun } from '../../apps/worker/src/parent/runs/job-run.ts';
import { LaneRows } from '../../apps/worker/src/parent/runs/lane-rows.ts';
import { Runs } from '../../apps/worker/src/parent/runs/runs.ts';
import { type SpeechParts, SpeechRun } from '../../apps/worker/src/parent/runs/speech-run.ts';
import {
  type JobId,
  type JobState,
  SpeechToTextInputSchema,
  silentLog,
  systemClock,
  type TenantId,
} from '../../packages/shared/src/index.ts';
import { Leases, WorkflowRunner } from '../../packages/shared/src/queue/index.ts';
import { bullQueue, GROUP, type QueueWorld, queueWorld } from '../support/queue-world.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { SLOW_MACHINE } from '../support/timeouts.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const EARS = 'whisper.ears@1';
const INPUT = SpeechToTextInputSchema.parse({
  audio: { kind: 'url', url: 'https://slow.example/a.wav' },
  language: null,
  task: 'transcribe',
  prompt: '',
  temperature: 0,
  timestamps: 'segment',
  mode: 'sequential',
});
/** The row cap of the lane. */
const CAP = 4;

interface IntakeWorld extends QueueWorld {
  readonly intake: Intake;
  readonly attempts: Attempts;
  readonly leases: Leases;
  readonly started: ReadonlySet<JobRun>;
  /** Runs that it stopped, and why. */
  readonly stopped: readonly [JobId, StopReason][];
  /** The ends of jobs that ended when they were claimed. */
  readonly endedAtClaim: readonly JobState[];
  /** Resolves when it sleeps: it would claim no more jobs. */
  sleeps(): Promise<void>;
}

/** The audio of its jobs never arrives. */
async function intakeWorld({ canPause = false } = {}): Promise<IntakeWorld> {
  const world = await queueWorld(server.url);
  const started = new Set<JobRun>();
  const stopped: [JobId, StopReason][] = [];
  const endedAtClaim: JobState[] = [];
  const leases = new Leases({ ...world, log: silentLog, renewEveryMs: 60_000, onLost: () => {} });
  const defaults = { firstCap: () => CAP, usualRows: () => 1, canPause: () => canPause };
  const laneRows = new LaneRows(defaults, () => {});
  const inputs = new InputShares(() => intake.look());
  const runs = new Runs({
    laneRows,
    inputs,
    progress: { note: () => {}, forget: () => {} },
    previews: { stepped: () => {}, publish: async () => {} },
    clock: systemClock,
    log: silentLog,
    send: () => {},
  });
  const parts: Partial<SpeechParts> = {
    clock: systemClock,
    fetchMedia: () => new Promise(() => {}),
    abilities: { languages: null } as WhisperAbilities,
  };
  const attempts = new Attempts({
    ...world,
    workflows: new WorkflowRunner(world),
    leases,
    runner: {
      newRun: (claim, record, at) => new SpeechRun(claim, record, at, INPUT, parts as SpeechParts),
      run: (run) => {
        started.add(run);
        return runs.run(run);
      },
      serves: () => true,
      stop: (run, reason) => stopped.push([run.record.id, reason]),
    },
    clock: systemClock,
    log: silentLog,
    maxRunMs: 60_000,
    finish: async () => undefined,
    onEnded: () => {},
    onEndedAtClaim: (_queue, end) => endedAtClaim.push(end),
  });
  const intake = new Intake({
    ...world,
    attempts,
    runner: {
      room: (group, priority) => laneRows.room(group, priority),
      get fullTenants() {
        return inputs.full;
      },
      usualJobs: (group, rows) => laneRows.usualJobs(group, rows),
    },
    clock: systemClock,
    log: silentLog,
    groups: () => [EARS, GROUP],
    models: () => ['ears@1', 'tiny@1'],
    mayClaim: () => true,
  });
  const wait = vi.spyOn(world.claimer, 'wait');
  onTestFinished(() => intake.stop());
  const sleeps = () => vi.waitFor(() => expect(wait).toHaveBeenCalled(), SLOW_MACHINE);
  return { ...world, intake, attempts, leases, started, stopped, endedAtClaim, sleeps };
}

const speech = { type: 'speech-to-text', model: 'ears@1', queue: EARS, input: INPUT } as const;

test('Jobs whose audio is still being fetched take no rows: a tenant gets its share of them, and then a job of another tenant is claimed', async () => {
  const world = await intakeWorld();
  for (let i = 0; i < 2 * MOST_OF_TENANT; i += 1) await world.submit(speech);
  world.intake.start();
  await world.sleeps();
  expect(world.started.size).toBe(MOST_OF_TENANT);
  const other = await world.submit({ ...speech, tenant: 'other' as TenantId });
  const startedIds = (): JobId[] => [...world.started].map(({ record }) => record.id);
  await vi.waitFor(() => expect(startedIds()).toContain(other), SLOW_MACHINE);
  expect(world.started.size).toBe(MOST_OF_TENANT + 1);
});

test('A tenant with its share of speech jobs without their audio still gets its pictures', async () => {
  const world = await intakeWorld();
  for (let i = 0; i < 2 * MOST_OF_TENANT; i += 1) await world.submit(speech);
  world.intake.start();
  await world.sleeps();
  const picture = await world.submit();
  const startedIds = (): JobId[] => [...world.started].map(({ record }) => record.id);
  await vi.waitFor(() => expect(startedIds()).toContain(picture), SLOW_MACHINE);
  expect(world.started.size).toBe(MOST_OF_TENANT + 1);
});

test('A full lane takes a short job that is at the head of its group, also when a long one came before it', async () => {
  // The rows of jobs without an input to fetch are reserved.
  vi.spyOn(SpeechRun.prototype, 'fetchesInput', 'get').mockReturnValue(false);
  const world = await intakeWorld({ canPause: true });
  for (let i = 0; i < CAP; i += 1) await world.submit({ ...speech, cost: 3000 });
  world.intake.start();
  await world.sleeps();
  expect(world.started.size).toBe(CAP);
  const pass = vi.spyOn(world.claimer, 'pass');
  const long = await world.submit({ ...speech, cost: 1100 });
  // The marker goes to the other workers: this one cannot take the job.
  await vi.waitFor(() => expect(pass).toHaveBeenCalledWith(EARS), SLOW_MACHINE);
  const short = await world.submit({ ...speech, priority: 'interactive', cost: 900 });
  const startedIds = (): JobId[] => [...world.started].map(({ record }) => record.id);
  await vi.waitFor(() => expect(startedIds()).toContain(short), SLOW_MACHINE);
  expect(world.started.size).toBe(CAP + 1);
  expect(await world.queues.of(EARS).position(long)).toBeDefined();
});

test('While no job waits, neither rows that become free nor the next job cause a search: its marker is enough', async () => {
  // Jobs that fetch an input take no rows yet.
  vi.spyOn(SpeechRun.prototype, 'fetchesInput', 'get').mockReturnValue(true);
  const world = await intakeWorld();
  const search = vi.spyOn(world.claimer, 'findWork');
  await world.submit(speech);
  world.intake.start();
  await world.sleeps();
  const before = search.mock.calls.length;
  world.intake.roomFreed();
  await world.submit(speech);
  await vi.waitFor(() => expect(world.started.size).toBe(2), SLOW_MACHINE);
  expect(search.mock.calls.length).toBe(before);
});

test('A marker while a job runs is searched for, so that bulk jobs go on waiting', async () => {
  vi.spyOn(SpeechRun.prototype, 'fetchesInput', 'get').mockReturnValue(false);
  const world = await intakeWorld();
  await world.submit(speech);
  world.intake.start();
  await world.sleeps();
  expect(world.started.size).toBe(1);
  const bulk = await world.submit({ ...speech, priority: 'bulk' });
  await world.submit(speech);
  await vi.waitFor(() => expect(world.started.size).toBe(2), SLOW_MACHINE);
  expect(await world.queues.of(EARS).position(bulk)).toBe(1);
});

test('A bulk job that comes with the marker of an urgent one goes on waiting for a worker that has no other work', async () => {
  vi.spyOn(SpeechRun.prototype, 'fetchesInput', 'get').mockReturnValue(false);
  const world = await intakeWorld();
  world.intake.start();
  await world.sleeps();
  const start = world.store.start.bind(world.store);
  let bulk: JobId | undefined;
  vi.spyOn(world.store, 'start').mockImplementationOnce(async (...order) => {
    bulk = await world.submit({ ...speech, priority: 'bulk' });
    return await start(...order);
  });
  const pass = vi.spyOn(world.claimer, 'pass');
  await world.submit(speech);
  // The marker of the bulk job goes to another worker.
  await vi.waitFor(() => expect(pass).toHaveBeenCalledWith(EARS), SLOW_MACHINE);
  expect(world.started.size).toBe(1);
  expect(await world.queues.of(EARS).position(bulk as JobId)).toBe(1);
});

test('The lease of a claimed job that could neither run nor be ended is not renewed', async () => {
  const world = await intakeWorld();
  const id = await world.submit(speech);
  // Tried too often, it fails at once, which needs another command.
  await world.redis.hset(world.keys.record(id), 'attempt', MAX_ATTEMPTS);
  vi.spyOn(world.records, 'apply').mockRejectedValueOnce(new Error('OOM command not allowed'));
  world.intake.start();
  await world.sleeps();
  expect(await world.queues.of(EARS).position(id)).toBeUndefined();
  expect([world.started.size, world.leases.size]).toEqual([0, 0]);
});

test.each<[string, (world: IntakeWorld, key: string) => Promise<unknown>]>([
  ['is no hash', ({ redis }, key) => redis.set(key, 'damaged')],
  ['has no valid cost', ({ redis }, key) => redis.hset(key, 'cost', 'much')],
])('A job whose record %s leaves the queue, and those behind it run', async (_, damage) => {
  const world = await intakeWorld();
  const damaged = await world.submit(speech);
  const other = await world.submit(speech);
  await damage(world, world.keys.record(damaged));
  world.intake.start();
  await world.sleeps();
  expect([...world.started].map(({ record }) => record.id)).toEqual([other]);
  expect(await world.redis.lrange(world.queues.of(EARS).activeKey, 0, -1)).toEqual([other]);
});

test('A job that is cancelled while it is being started is stopped as soon as it has started', async () => {
  const world = await intakeWorld();
  const id = await world.submit(speech);
  const start = world.store.start.bind(world.store);
  vi.spyOn(world.store, 'start').mockImplementation(async (...order) => {
    const started = await start(...order);
    // Its request reaches this worker before the reply to the start does.
    await world.records.apply([{ move: 'cancel', id }]);
    world.attempts.cancel(id);
    return started;
  });
  world.intake.start();
  await world.sleeps();
  expect(world.stopped).toEqual([[id, { kind: 'canceled' }]]);
});

test('A job whose deadline passed before its claim and a job that was started too often are each reported once', async () => {
  const world = await intakeWorld();
  await world.submit({ ...speech, deadline_at: 1 });
  const tried = await world.submit(speech);
  await world.redis.hset(world.keys.record(tried), 'attempt', MAX_ATTEMPTS);
  world.intake.start();
  await world.sleeps();
  expect([...world.endedAtClaim].sort()).toEqual(['expired', 'failed']);
  expect(await world.records.read(tried)).toMatchObject({ error: { code: 'attempts-exhausted' } });
});

test('A job whose attempts are used up fails with a message of Lehr and not with the text of BullMQ', async () => {
  const world = await intakeWorld();
  const tried = await world.submit(speech);
  await world.redis.hset(world.keys.record(tried), 'attempt', MAX_ATTEMPTS);
  const stalled = await world.submit(speech);
  // As BullMQ marks a job that stalled too often.
  const reason = 'job stalled more than allowable limit';
  await world.redis.hset(world.queues.of(speech.queue).jobKey(stalled), 'defa', reason);
  world.intake.start();
  await world.sleeps();
  const detailOf = async (id: JobId): Promise<unknown> => {
    const record = await world.records.read(id);
    return record?.state === 'failed' ? record.error.detail : record?.state;
  };
  expect(await detailOf(tried)).toBe(
    'The job was started 6 times and never finished. It is not tried again.',
  );
  expect(await detailOf(stalled)).toBe(
    'The workers that ran the job stopped renewing its lease too often. It is not tried again.',
  );
});

test('A group that is paused in BullMQ lets the intake sleep, and its jobs start when it is resumed', async () => {
  const world = await intakeWorld();
  const start = vi.spyOn(world.store, 'start');
  const queue = bullQueue(world, EARS);
  await queue.pause();
  const paused = await world.submit(speech);
  world.intake.start();
  await world.sleeps();
  expect([world.started.size, start.mock.calls.length]).toEqual([0, 0]);
  await queue.resume();
  await vi.waitFor(
    () => expect([...world.started].map(({ record }) => record.id)).toEqual([paused]),
    SLOW_MACHINE,
  );
});

test('A group whose head cannot be claimed is tried once, and then the intake sleeps', async () => {
  const world = await intakeWorld();
  const start = vi.spyOn(world.store, 'start');
  await world.submit(speech);
  // BullMQ hands out no job beyond this number.
  await bullQueue(world, EARS).setGlobalConcurrency(1);
  await world.store.start(EARS, 1);
  await world.submit(speech);
  world.intake.start();
  await world.sleeps();
  expect(world.started.size).toBe(0);
  expect(start).toHaveBeenCalledTimes(2);
});

test('A command that fails while the intake sleeps starts no second blocking pop behind the first one', async () => {
  const world = await intakeWorld();
  const wait = vi.spyOn(world.claimer, 'wait').mockImplementation(() => new Promise(() => {}));
  const findWork = vi.spyOn(world.claimer, 'findWork');
  world.intake.start();
  await vi.waitFor(() => expect(wait).toHaveBeenCalledOnce(), SLOW_MACHINE);
  findWork.mockRejectedValueOnce(new Error('Command timed out'));
  world.intake.look();
  await vi.waitFor(() => expect(world.intake.isFailing).toBe(true), SLOW_MACHINE);
  await vi.waitFor(() => expect(world.intake.isFailing).toBe(false), SLOW_MACHINE);
  await world.submit(speech);
  world.intake.look();
  await vi.waitFor(() => expect(world.started.size).toBe(1), SLOW_MACHINE);
  expect(wait).toHaveBeenCalledOnce();
});

/** What the intake takes out of a queue, and what it lets go of, over a real Redis and with no engine behind it. */
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import type { WhisperAbilities } from '../../apps/worker/src/engine/protocol.ts';
import { Intake, MAX_ATTEMPTS } from '../../apps/worker/src/intake/intake.ts';
import { Ledger } from '../../apps/worker/src/intake/ledger.ts';
import type { JobRun, StopReason } from '../../apps/worker/src/runs/job-run.ts';
import type { Runs } from '../../apps/worker/src/runs/runs.ts';
import { type SpeechParts, SpeechRun } from '../../apps/worker/src/runs/speech-run.ts';
import {
  type JobId,
  type JobState,
  SpeechToTextInputSchema,
  silentLog,
  systemClock,
} from '../../packages/shared/src/index.ts';
import { Leases, WorkflowRunner } from '../../packages/shared/src/queue/index.ts';
import { SOON } from '../support/patience.ts';
import { type QueueWorld, queueWorld } from '../support/queue-world.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';

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
/** Rows the lane takes. */
const CAP = 4;

interface IntakeWorld extends QueueWorld {
  readonly intake: Intake;
  readonly leases: Leases;
  readonly inHand: ReadonlyMap<JobId, JobRun>;
  /** Runs that it stopped, and why. */
  readonly stopped: readonly [JobId, StopReason][];
  /** Ends it wrote of jobs that it did not run. */
  readonly unrun: readonly JobState[];
  /** Resolves when there is nothing more that it would take. */
  rests(): Promise<void>;
}

/** The audio of its jobs never comes. */
async function intakeWorld(): Promise<IntakeWorld> {
  const world = await queueWorld(server.url);
  const inHand = new Map<JobId, JobRun>();
  const stopped: [JobId, StopReason][] = [];
  const unrun: JobState[] = [];
  const leases = new Leases({ ...world, log: silentLog, renewEveryMs: 60_000, onLost: () => {} });
  const runs: Pick<Runs, 'add' | 'all' | 'find' | 'stop'> = {
    add: (run) => {
      inHand.set(run.record.id, run);
      void run.begin();
    },
    all: () => [...inHand.values()],
    find: (id) => inHand.get(id),
    stop: (run, reason) => stopped.push([run.record.id, reason]),
  };
  const parts: Partial<SpeechParts> = {
    clock: systemClock,
    fetchAudio: () => new Promise(() => {}),
    abilities: { languages: null } as WhisperAbilities,
  };
  const intake = new Intake({
    ...world,
    workflows: new WorkflowRunner(world),
    leases,
    ledger: new Ledger(() => CAP),
    runs: runs as Runs,
    clock: systemClock,
    log: silentLog,
    groups: () => [EARS],
    mayClaim: () => true,
    usualRows: () => 1,
    runFor: (claim, record, at) => new SpeechRun(claim, record, at, INPUT, parts as SpeechParts),
    onStarted: () => {},
    onUnrun: (_queue, end) => unrun.push(end),
  });
  const wait = vi.spyOn(world.claimer, 'wait');
  onTestFinished(() => intake.stop());
  const rests = () => vi.waitFor(() => expect(wait).toHaveBeenCalled(), SOON);
  return { ...world, intake, leases, inHand, stopped, unrun, rests };
}

const speech = { type: 'speech-to-text', model: 'ears@1', queue: EARS, input: INPUT } as const;

test('jobs whose audio is still on its way take the places that they will need: others wait in the queue', async () => {
  const world = await intakeWorld();
  for (let i = 0; i < 5 * CAP; i += 1) await world.submit(speech);
  world.intake.start();
  await world.rests();
  expect(world.inHand.size).toBe(CAP);
});

test('a job that was claimed and could not be begun is not held: its lease runs out', async () => {
  const world = await intakeWorld();
  const id = await world.submit(speech);
  vi.spyOn(world.records, 'apply').mockRejectedValueOnce(new Error('OOM command not allowed'));
  world.intake.start();
  await world.rests();
  expect(await world.queues.of(EARS).position(id)).toBeUndefined();
  expect([world.inHand.size, world.leases.size]).toEqual([0, 0]);
});

test('a job that is called off while it is being begun is stopped once it is in hand', async () => {
  const world = await intakeWorld();
  const id = await world.submit(speech);
  const apply = world.records.apply.bind(world.records);
  vi.spyOn(world.records, 'apply').mockImplementation(async (moves) => {
    const outcomes = await apply(moves);
    if (moves.some(({ move }) => move === 'start')) {
      await apply([{ move: 'cancel', id }]);
      world.intake.cancel(id);
    }
    return outcomes;
  });
  world.intake.start();
  await world.rests();
  expect(world.stopped).toEqual([[id, { kind: 'canceled' }]]);
});

test('a job whose deadline passed before it was claimed, and one given up, are each told of once', async () => {
  const world = await intakeWorld();
  await world.submit({ ...speech, deadline_at: 1 });
  const tried = await world.submit(speech);
  await world.redis.hset(world.keys.record(tried), 'attempt', MAX_ATTEMPTS);
  world.intake.start();
  await world.rests();
  expect([...world.unrun].sort()).toEqual(['expired', 'failed']);
  expect(await world.records.read(tried)).toMatchObject({ error: { code: 'attempts-exhausted' } });
});

test('A job whose attempts are used up fails with a whole sentence of ours, not with the text of BullMQ', async () => {
  const world = await intakeWorld();
  const tried = await world.submit(speech);
  await world.redis.hset(world.keys.record(tried), 'attempt', MAX_ATTEMPTS);
  const stalled = await world.submit(speech);
  const claim = world.claimer.claim.bind(world.claimer);
  vi.spyOn(world.claimer, 'claim').mockImplementation(async (queue, count) =>
    (await claim(queue, count)).map((each) => ({
      ...each,
      deferredFailure: each.jobId === stalled ? 'job stalled more than allowable limit' : undefined,
    })),
  );
  world.intake.start();
  await world.rests();
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

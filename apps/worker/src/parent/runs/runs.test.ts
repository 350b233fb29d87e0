import { type Clock, type LeaseToken, type PriorityClass, silentLog, systemClock } from '@lehr/shared';
import type { Claim } from '@lehr/shared/queue';
import type { JobRecord } from '@lehr/shared/records';
import { expect, test } from 'vitest';
import type { DiffusionSample, SampleId, ToEngine } from '../../engine/protocol/messages.ts';
import { InputShares } from './input-shares.ts';
import { JobRun, type SampleRun } from './job-run.ts';
import { LaneRows } from './lane-rows.ts';
import { Runs } from './runs.ts';

const LANE = 'diffusion.tiny@1.64x64';
const LARGE = 'diffusion.tiny@1.128x128';
const CRASH = { code: null, signal: 'SIGSEGV', hung: false } as const;

/** A run of one-row samples. It is done when all of them have a result. */
class TestRun extends JobRun {
  readonly samples: readonly SampleRun[];
  readonly firstRows: number;
  readonly progress = { fraction: 0, stage: 'denoise', step: 0, steps: 1 } as const;
  #results = 0;

  constructor(lease: string, samples = 1, priority: PriorityClass = 'standard') {
    const claim = { jobId: 'job_1', queue: LANE, token: lease as LeaseToken } as Claim;
    super(claim, { id: 'job_1', queue: LANE, priority } as unknown as JobRecord, 0);
    this.firstRows = samples;
    this.samples = Array.from({ length: samples }, (_, index) => ({
      request: { id: `${lease}.${index}`, task: 'diffusion', lane: LANE } as DiffusionSample,
      rows: 1,
      submittedAt: 0,
      step: 0,
      inEngine: false,
    }));
  }

  get isDone(): boolean {
    return this.#results === this.samples.length;
  }

  async begin(): Promise<readonly SampleRun[]> {
    return this.samples;
  }

  async addResult(): Promise<readonly SampleRun[]> {
    this.#results += 1;
    return [];
  }

  successFields(): undefined {
    return undefined;
  }
}

function testRuns(): { runs: Runs; laneRows: LaneRows; sent: ToEngine[] } {
  const sent: ToEngine[] = [];
  const laneRows = new LaneRows({ firstCap: () => 8, usualRows: () => 1 }, () => {});
  const runs = new Runs({
    laneRows,
    inputs: new InputShares(() => {}),
    progress: { note: () => {}, forget: () => {} },
    previews: { stepped: () => {}, publish: async () => {} },
    clock: systemClock as Clock,
    log: silentLog,
    send: (message) => sent.push(message),
  });
  return { runs, laneRows, sent };
}

const canceled = (run: JobRun, index = 0) =>
  ({ type: 'canceled', sample: run.samples[index].request.id }) as const;
/** Resolves when the microtasks that are due have run. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const isOver = async (ended: Promise<void>): Promise<boolean> =>
  Promise.race([ended.then(() => true), settled().then(() => false)]);
const limitsOf = (message: ToEngine | undefined): number[] =>
  message?.type === 'submit' ? message.samples.map(({ maxBatchMates }) => maxBatchMates) : [];

test('A job that is claimed again while its earlier run is still stopping runs to its end', async () => {
  const { runs } = testRuns();
  const earlier = new TestRun('lease-1');
  const later = new TestRun('lease-2');
  const earlierEnded = runs.run(earlier);
  await settled();
  runs.stop(earlier, { kind: 'lost' });
  const laterEnded = runs.run(later);
  await settled();
  expect(await isOver(earlierEnded)).toBe(false);
  runs.endSample(canceled(earlier));
  await earlierEnded;
  expect(await isOver(laterEnded)).toBe(false);
  expect(later.stopReason).toBeUndefined();
  runs.endSample({ ...canceled(later), type: 'finished' } as never);
  await laterEnded;
  expect(later.isDone).toBe(true);
});

test('A stopped job is over when the engine has dropped all its samples', async () => {
  const { runs, sent } = testRuns();
  const run = new TestRun('lease', 2);
  const ended = runs.run(run);
  await settled();
  runs.stop(run, { kind: 'canceled' });
  const ids = run.samples.map(({ request }) => request.id);
  expect(sent.slice(1)).toEqual(ids.map((sample) => ({ type: 'cancel', sample })));
  runs.endSample(canceled(run, 0));
  expect(await isOver(ended)).toBe(false);
  runs.endSample(canceled(run, 1));
  await ended;
  expect(run.stopReason).toEqual({ kind: 'canceled' });
});

test('Rows are reserved until the first samples are submitted, and free again when the job is over', async () => {
  const { runs, laneRows } = testRuns();
  const run = new TestRun('lease', 2);
  const ended = runs.run(run);
  expect([laneRows.room(LANE).freeRows, laneRows.usage(LANE).samples]).toEqual([6, 0]);
  await settled();
  expect([laneRows.room(LANE).freeRows, laneRows.usage(LANE).samples]).toEqual([6, 2]);
  for (const { request } of run.samples) runs.endSample({ type: 'canceled', sample: request.id });
  runs.stop(run, { kind: 'canceled' });
  await ended;
  expect(laneRows.room(LANE)).toEqual({ running: false, freeRows: 8 });
});

test('A sample that begins its second pass has its rows in the lane of its size, also when the engine dies in it', async () => {
  const { runs, laneRows } = testRuns();
  const run = new TestRun('lease');
  void runs.run(run);
  await settled();
  const [{ request }] = run.samples;
  const rows = (): number[] => [LANE, LARGE].map((lane) => laneRows.usage(lane).rows);
  expect(rows()).toEqual([1, 0]);
  runs.changeLane(request.id as SampleId, LARGE);
  expect(rows()).toEqual([0, 1]);
  runs.engineRuns([request.id as SampleId]);
  expect(runs.runningLane).toBe(LARGE);
  runs.engineDied({ ...CRASH, wasOpening: true });
  expect(rows()).toEqual([0, 0]);
  runs.resubmit();
  expect(rows()).toEqual([1, 0]);
  runs.endSample({ ...canceled(run), type: 'finished' } as never);
  expect(rows()).toEqual([0, 0]);
});

test('A bulk job that has run for too long while it paused for others is handed back, and otherwise fails', async () => {
  const { runs } = testRuns();
  const tooLong = { kind: 'failed', code: 'run-too-long', message: 'The job ran for 3600 seconds.' } as const;
  const paused = new TestRun('lease-1', 1, 'bulk');
  const alone = new TestRun('lease-2', 1, 'bulk');
  const other = new TestRun('lease-3');
  for (const run of [paused, alone, other]) void runs.run(run);
  await settled();
  runs.stop(paused, tooLong);
  expect(paused.stopReason).toEqual({ kind: 'handed-back' });
  runs.stop(other, tooLong);
  runs.endSample(canceled(other));
  runs.stop(alone, tooLong);
  expect([other.stopReason, alone.stopReason]).toEqual([tooLong, tooLong]);
});

test('A new engine gets the samples of the dead one, those that it worked on with fewer batch mates', async () => {
  const { runs, sent } = testRuns();
  const run = new TestRun('lease', 5);
  void runs.run(run);
  await settled();
  const ids = run.samples.map(({ request }) => request.id as SampleId);
  runs.engineRuns(ids.slice(0, 4));
  runs.engineDied(CRASH);
  runs.resubmit();
  expect(limitsOf(sent.at(-1))).toEqual([2, 2, 2, 2, Number.MAX_SAFE_INTEGER]);
});

test('The error of a job that crashes the engine tells the sizes of the batches in which it did', async () => {
  const { runs } = testRuns();
  const [crashing, other] = [new TestRun('lease-1'), new TestRun('lease-2')];
  const ended = runs.run(crashing);
  void runs.run(other);
  await settled();
  const [id, mate] = [crashing, other].map((run) => run.samples[0].request.id);
  for (const batch of [[id, mate], [id]]) {
    runs.engineRuns(batch);
    runs.engineDied(CRASH);
    runs.resubmit();
  }
  await ended;
  expect(crashing.stopReason).toMatchObject({
    code: 'engine-crashed',
    message: expect.stringContaining('these batches: 2, 1.'),
  });
  expect(other.stopReason).toBeUndefined();
});

test('A job that was alone in an engine that died while it opened a model is submitted again, and is no suspect', async () => {
  const { runs, sent } = testRuns();
  const run = new TestRun('lease');
  void runs.run(run);
  await settled();
  runs.engineRuns([run.samples[0].request.id]);
  for (let death = 0; death < 3; death++) {
    runs.engineDied({ ...CRASH, wasOpening: true });
    runs.resubmit();
  }
  expect(run.stopReason).toBeUndefined();
  expect(limitsOf(sent.at(-1))).toEqual([Number.MAX_SAFE_INTEGER]);
});

test('A job that was alone in the engine when it crashed fails, and a stopped job needs no answer of a dead engine', async () => {
  const { runs } = testRuns();
  const crashing = new TestRun('lease-1');
  const stopped = new TestRun('lease-2');
  const ended = [runs.run(crashing), runs.run(stopped)];
  await settled();
  runs.stop(stopped, { kind: 'expired' });
  runs.engineRuns([crashing.samples[0].request.id]);
  runs.engineDied(CRASH);
  await Promise.all(ended);
  expect(crashing.stopReason).toMatchObject({ kind: 'failed', code: 'engine-crashed' });
  expect(stopped.stopReason).toEqual({ kind: 'expired' });
});

import { type Clock, type LeaseToken, silentLog, systemClock } from '@lehr/shared';
import type { Checkpoint, CheckpointStore, JobRecord } from '@lehr/shared/records';
import { expect, test } from 'vitest';
import type { SampleId } from '../../engine/protocol/messages.ts';
import type { StopReason } from '../delivery/attempt.ts';
import { type CheckpointOutcome, Checkpoints } from './checkpoints.ts';
import type { JobRun, SampleRun } from './job-run.ts';

const QUEUE = 'diffusion.tiny@1.64x64';
const ID = 'sample' as SampleId;

/** A run with one picture. */
function runOf(): JobRun & { stopReason: StopReason | undefined } {
  const sample = { step: 0 } as SampleRun;
  const record = { id: 'job_1', queue: QUEUE, checkpoint: '1' } as unknown as JobRecord;
  return { record, lease: 'lease-1' as LeaseToken, samples: [sample], stopReason: undefined } as never;
}

/** A store whose writes end when the test says so. */
function checkpointsOf(store: Partial<CheckpointStore> = {}, clock: Clock = systemClock) {
  const writes: { readonly bytes: number[]; readonly end: (error?: Error) => void }[] = [];
  const outcomes: CheckpointOutcome[] = [];
  const write = (checkpoints: readonly Checkpoint[]): Promise<boolean[]> =>
    new Promise((resolve, reject) => {
      const end = (error?: Error): void => (error ? reject(error) : resolve(checkpoints.map(() => true)));
      writes.push({ bytes: checkpoints.map(({ bytes }) => bytes[0]), end });
    });
  const checkpoints = new Checkpoints({
    store: { write, removeObjects: async () => {}, ...store } as CheckpointStore,
    clock,
    log: silentLog,
    observe: (_queue, outcome) => outcomes.push(outcome),
  });
  const run = runOf();
  const receive = (value: number): void =>
    checkpoints.receive(
      { type: 'checkpoints', samples: [{ id: ID, step: value, bytes: Uint8Array.of(value) }] },
      () => ({ run, sample: run.samples[0] }),
    );
  return { checkpoints, run, receive, writes, outcomes };
}

/** Resolves when the microtasks that are due have run. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('While a write is under way only the newest checkpoint waits', async () => {
  const { receive, writes, outcomes } = checkpointsOf();
  for (const value of [1, 2, 3]) receive(value);
  writes[0].end();
  await settled();
  expect(writes.map(({ bytes }) => bytes)).toEqual([[1], [3]]);
  writes[1].end();
  await settled();
  expect(outcomes).toEqual(['written', 'written']);
});

test('A job that is handed back is closed after its last checkpoint is stored', async () => {
  const { checkpoints, run, receive, writes } = checkpointsOf();
  receive(1);
  run.stopReason = { kind: 'handed-back' };
  receive(2);
  let isClosed = false;
  const closed = checkpoints.close(run).then(() => {
    isClosed = true;
  });
  writes[0].end();
  await settled();
  expect([isClosed, writes.length]).toEqual([false, 2]);
  writes[1].end();
  await closed;
});

test('A job is handed back without its last checkpoint when that is not stored in time', async () => {
  const { checkpoints, run, receive, writes } = checkpointsOf({}, { ...systemClock, sleep: async () => {} });
  receive(1);
  run.stopReason = { kind: 'handed-back' };
  await checkpoints.close(run);
  expect(writes).toHaveLength(1);
});

test.each(['canceled', 'expired', 'lost'] as const)(
  'Nothing more is stored of a job that is %s',
  async (kind) => {
    const { checkpoints, run, receive, writes } = checkpointsOf();
    receive(1);
    receive(2);
    run.stopReason = { kind };
    await checkpoints.close(run);
    receive(3);
    writes[0].end();
    await settled();
    expect(writes).toHaveLength(1);
  },
);

test('A write that fails is counted, and the next checkpoint is written again', async () => {
  const { run, receive, writes, outcomes } = checkpointsOf();
  receive(1);
  writes[0].end(new Error('no answer'));
  await expect.poll(() => outcomes).toEqual(['failed']);
  receive(2);
  await expect.poll(() => writes.length).toBe(2);
  writes[1].end();
  await expect.poll(() => outcomes).toEqual(['failed', 'written']);
  expect(run.samples[0].checkpoint).toEqual(Uint8Array.of(2));
});

test('A job whose checkpoints cannot be read starts without them', async () => {
  const { checkpoints, run, outcomes } = checkpointsOf({
    read: () => Promise.reject(new Error('no answer')),
  });
  expect(await checkpoints.read(run.record)).toEqual(new Map());
  expect(outcomes).toEqual(['ignored']);
});

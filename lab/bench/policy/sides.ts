/** Two policies on the same engine: Lehr's, and that of the usual micro-batcher. */

import type { LatencyModel } from '../../../apps/worker/src/engine/runtime/simulated.ts';
import { chooseGroup } from '../../../apps/worker/src/parent/intake/policy.ts';
import { LaneRows } from '../../../apps/worker/src/parent/runs/lane-rows.ts';
import { type Ended, Endings } from './endings.ts';
import { GroupQueues } from './group-queues.ts';
import { aloneMs, type PolicyJob, ROWS } from './load.ts';
import { laneOf, type SimulatedEngine, sampleId, simulatedEngine } from './simulated-engine.ts';

export interface SideOptions {
  readonly folder: string;
  readonly device: LatencyModel;
  /** How far behind its start tag a job of this cost is placed; default: as Lehr does. */
  readonly lag?: (costMs: number) => number;
  /** In a closed loop: the job that its user posts after this one; `arrivesAt` is not before the end. */
  readonly next?: (ended: Ended) => PolicyJob | undefined;
  /** Of each call of the UNet, in virtual ms since the first arrival could happen. */
  readonly onStep?: (atMs: number, rows: number) => void;
}

/** From a free row to the submitted sample: claim, record, message to the engine. */
const CLAIM_MS = 5;

/**
 * Continuous batching: jobs are claimed in fair order as rows become free, and join at the next step; a short one also in a full lane.
 * Each size has its queue and its lane; the worker's own policy says which queue it claims from.
 */
export async function lehr(
  { lag, next, onStep, ...options }: SideOptions,
  jobs: readonly PolicyJob[],
): Promise<Ended[]> {
  const record = new Endings();
  const queues = new GroupQueues(options.device, lag);
  let engine: SimulatedEngine;
  const claim = (lane: string, count: number): void => {
    for (const job of queues.claim(lane, count)) {
      // The rows count from the claim on; the sample is in the engine a little later.
      rows.take(sampleId(job), lane, ROWS, aloneMs(options.device, job));
      engine.time.at(engine.time.now() + CLAIM_MS, () => engine.submit(job));
    }
  };
  const fill = (): void => {
    for (;;) {
      const heads = queues.heads(engine.time.now() - begin);
      const choice = chooseGroup(heads, (lane) => rows.room(lane), queues.lastServed);
      if (!choice) return;
      claim(choice.queue, rows.usualJobs(choice.queue, choice.rows));
    }
  };
  let firstCap = ROWS;
  const rows = new LaneRows({ firstCap: () => firstCap, usualRows: () => ROWS, canPause: () => true }, fill);
  let begin = 0;
  engine = await simulatedEngine({
    ...options,
    rowCap: 'auto',
    onMessage: (message) => {
      const now = engine.time.now();
      if (message.type === 'row-cap') rows.setCap(message.lane, message.rows);
      else if (message.type === 'running') record.start(message.samples, now - begin);
      else if (message.type === 'last-step') rows.release(message.sample);
      else if (message.type === 'stepped') {
        onStep?.(now - begin, message.rows);
        for (const { id, step, steps } of message.samples) rows.stepped(id, step / steps);
      } else if (message.type === 'finished') {
        rows.release(message.sample);
        const ended = record.end(message.sample, now - begin);
        const following = next?.(ended);
        if (following) arrive(following);
      }
    },
  });
  firstCap = engine.opened.rowCap;
  begin = engine.time.now();
  const arrive = (job: PolicyJob): void => {
    record.add(job);
    engine.time.at(begin + job.arrivesAt, () => {
      queues.add(job);
      fill();
    });
  };
  for (const job of jobs) arrive(job);
  await engine.finish();
  return record.all();
}

export interface ClassicOptions extends SideOptions {
  /** How long the oldest job of a group waits for others. */
  readonly windowMs: number;
}

const MOST_JOBS = 8;

/**
 * The usual micro-batcher: jobs with equal steps, guidance and size form a group; a group of 8, or one whose oldest job has waited for the
 * window, runs to completion, and its callers get their pictures when all of them are decoded. The oldest group goes first.
 */
export async function classic(
  { windowMs, next: nextOf, onStep, ...options }: ClassicOptions,
  jobs: readonly PolicyJob[],
): Promise<Ended[]> {
  const record = new Endings();
  const groups = new Map<string, PolicyJob[]>();
  let running = new Set<string>();
  let batch: readonly PolicyJob[] = [];
  const engine = await simulatedEngine({
    ...options,
    rowCap: MOST_JOBS * ROWS,
    onMessage: (message) => {
      const now = engine.time.now() - begin;
      if (message.type === 'running') record.start(message.samples, now);
      if (message.type === 'stepped') onStep?.(now, message.rows);
      if (message.type !== 'finished') return;
      running.delete(message.sample);
      if (running.size > 0) return;
      for (const job of batch) {
        const ended = record.end(sampleId(job), now);
        const following = nextOf?.(ended);
        if (following) arrive(following);
      }
      next();
    },
  });
  const begin = engine.time.now();
  const next = (): void => {
    if (running.size > 0) return;
    const now = engine.time.now() - begin;
    const ready = [...groups].filter(
      ([, [oldest, ...others]]) =>
        others.length + 1 >= MOST_JOBS || now - oldest.arrivesAt >= windowMs - 1e-6,
    );
    const [chosen] = ready.sort(([, [a]], [, [b]]) => a.arrivesAt - b.arrivesAt);
    if (!chosen) return;
    const [key, waiting] = chosen;
    batch = waiting.splice(0, MOST_JOBS);
    if (waiting.length === 0) groups.delete(key);
    running = new Set(batch.map(sampleId));
    engine.time.at(engine.time.now() + CLAIM_MS, () => {
      for (const job of batch) engine.submit(job);
    });
  };
  const arrive = (job: PolicyJob): void => {
    record.add(job);
    engine.time.at(begin + job.arrivesAt, () => {
      const key = `${job.steps} ${job.guidance} ${laneOf(job)}`;
      groups.set(key, [...(groups.get(key) ?? []), job]);
      next();
      engine.time.at(engine.time.now() + windowMs, next);
    });
  };
  for (const job of jobs) arrive(job);
  await engine.finish();
  return record.all();
}

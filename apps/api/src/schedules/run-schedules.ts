/**
 * Makes the jobs of schedules that are due, in every API process. A run has one job whatever happens: its id is a function of the schedule
 * and the time (jobIdOfTick), and the schedule goes on to its next time only from the one that was read (advance.lua).
 */
import { every, jobIdOfTick, MAX_CAUGHT_UP, type Metrics, toLehrError } from '@lehr/shared';
import { isTerminal } from '@lehr/shared/records';
import type { Authenticator } from '../access/auth/authenticator.ts';
import { type CallParts, countJob } from '../jobs/requests/make-job.ts';
import { submitJob } from '../jobs/submit.ts';
import { timingOf } from './change-schedule.ts';
import type { ScheduleStore, StoredRun, StoredSchedule } from './schedule-store.ts';
import { dueTicks, nextTick } from './ticks.ts';

export interface RunParts extends CallParts {
  readonly schedules: ScheduleStore;
  readonly authenticator: Authenticator;
  readonly metrics: CallParts['metrics'] & Pick<Metrics<'api'>, 'scheduleRuns'>;
}

const EVERY_MS = 500;
const TAKEN = 16;
/** Longer than making a job takes; a schedule of a process that dies is due again after it. */
const HOLD_MS = 5_000;
/** With `catch_up: none`, a run that is later than this is missed. */
const LATE_MS = 60_000;
const MIN_WAIT_MS = 1_000;
const MAX_WAIT_MS = 30_000;
/** Returns a function that stops it. */
export const runSchedules = (parts: RunParts): (() => Promise<void>) =>
  every(EVERY_MS, (signal) => runDue(parts, signal), {
    ...parts,
    failed: 'could not look for schedules; trying again',
  });

/** One round. */
export async function runDue(parts: RunParts, signal?: AbortSignal): Promise<void> {
  let ids: string[];
  do {
    ids = await parts.schedules.take({ count: TAKEN, holdMs: HOLD_MS });
    await Promise.all(ids.map((id) => runOne(parts, id, signal)));
  } while (ids.length === TAKEN && !signal?.aborted);
}

async function runOne(parts: RunParts, id: string, signal: AbortSignal | undefined): Promise<void> {
  const { schedules, log } = parts;
  try {
    while (!signal?.aborted && (await step(parts, id)));
  } catch (error) {
    const { retryAfterS = 0 } = toLehrError(error);
    const waitMs = Math.min(MAX_WAIT_MS, Math.max(MIN_WAIT_MS, retryAfterS * 1000));
    log.warn({ error, schedule: id, waitMs }, 'a run of a schedule waits');
    await schedules.postpone(id, waitMs);
  }
}

/** Makes the next run that is due; false when none is. Rejects when it can be made later. */
async function step(parts: RunParts, id: string): Promise<boolean> {
  const { schedules, metrics } = parts;
  const schedule = await schedules.read(id);
  if (!schedule) return schedules.end(id).then(() => false);
  const { wanted, next } = schedule;
  const now = await schedules.now();
  if (wanted.paused || schedule.ended) return false;
  // Another process was here, or the clock was set back.
  if (next > now) return schedules.postpone(id, next - now).then(() => false);
  const timing = timingOf(schedule);
  const due = dueTicks(timing, next, now, wanted.catch_up === 'all' ? MAX_CAUGHT_UP : 1);
  const at = due[0];
  const isLate = wanted.catch_up === 'none' && now - at > LATE_MS;
  if (at !== next || isLate) {
    metrics.scheduleRuns.inc({ outcome: 'missed' });
    return schedules.advance(schedule, isLate ? nextTick(timing, at) : at, { at: next, note: 'missed' });
  }
  const run = await runOf(parts, schedule);
  if (!run) return schedules.end(id).then(() => false);
  if (!(await schedules.advance(schedule, nextTick(timing, at), run))) return false;
  metrics.scheduleRuns.inc({ outcome: run.note ?? 'made' });
  return true;
}

/** Undefined when the key of the schedule is not valid any more. */
async function runOf(
  parts: RunParts,
  { id, key, wanted, next: at, last_job }: StoredSchedule,
): Promise<StoredRun | undefined> {
  const caller = await parts.authenticator.find(key);
  if (!caller?.scopes.has('submit')) return undefined;
  const job = jobIdOfTick(id, at);
  if (wanted.overlap === 'skip' && last_job !== undefined) {
    const [last] = (await parts.records.outlines([last_job])).records;
    if (last && !isTerminal(last.state)) return { at, note: 'skipped' };
  }
  try {
    const { record, how } = await submitJob(parts, caller, wanted.request, {}, { id: job });
    if (how === 'new') countJob(parts, record);
    return { at, job };
  } catch (error) {
    const { code, message, retryable } = toLehrError(error);
    if (retryable) throw error;
    return { at, note: 'refused', error: { code, detail: message } };
  }
}

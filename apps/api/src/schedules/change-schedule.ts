/** Makes, changes and shows schedules. */
import {
  isJobId,
  newScheduleId,
  type Schedule,
  type ScheduleChange,
  type ScheduleRequest,
  type ScheduleRun,
} from '@lehr/shared';
import type { RecordStore } from '@lehr/shared/records';
import type { Caller } from '../access/auth/authenticator.ts';
import { QuotaError } from '../access/quotas.ts';
import { refusal } from '../base/field-problems.ts';
import { MAX_SCHEDULES, type ScheduleStore, type StoredRun, type StoredSchedule } from './schedule-store.ts';
import { nextTick, nextTicks, type Timing } from './ticks.ts';

interface ScheduleParts {
  readonly schedules: ScheduleStore;
  readonly records: Pick<RecordStore, 'outlines'>;
}

const NEXT_SHOWN = 5;
/** Of the request: it is kept in Redis. */
const MAX_REQUEST_BYTES = 65_536;
const RETRY_S = 60;

export const timingOf = ({ wanted, created_at }: Pick<StoredSchedule, 'wanted' | 'created_at'>): Timing => {
  const { cron, timezone = 'UTC', every_s = 0 } = wanted;
  return cron === undefined ? { everyMs: every_s * 1000, since: created_at } : { cron, timezone };
};

/** Throws `invalid-input`, and QuotaError when the tenant has too many. */
export async function createSchedule(
  parts: ScheduleParts,
  { tenant, keyId: key }: Caller,
  wanted: ScheduleRequest,
): Promise<Schedule> {
  const { schedules } = parts;
  const created_at = await schedules.now();
  const next = checked(wanted, created_at, created_at);
  if ((await schedules.count(tenant)) >= MAX_SCHEDULES)
    throw new QuotaError(`A tenant may have ${MAX_SCHEDULES} schedules.`, {
      limit: MAX_SCHEDULES,
      remaining: 0,
      resetS: RETRY_S,
    });
  const schedule = { id: newScheduleId(), tenant, key, wanted, created_at, next };
  await schedules.write(schedule);
  return presentSchedule(parts, schedule);
}

/** From then on its jobs are made with the key of this caller. A change of its times, or going on after a pause, makes up for nothing. */
export async function changeSchedule(
  parts: ScheduleParts,
  { tenant, keyId: key }: Caller,
  id: string,
  change: ScheduleChange,
): Promise<Schedule> {
  const { schedules } = parts;
  const known = await schedules.find(tenant, id);
  const { cron, every_s, timezone, ...rest } = known.wanted;
  const times = change.every_s === undefined ? { cron, timezone } : {};
  const wanted = { ...rest, ...times, ...(change.cron === undefined && { every_s }), ...change };
  const now = await schedules.now();
  const first = checked(wanted, known.created_at, now);
  const isSame = [cron, every_s, timezone].join() === [wanted.cron, wanted.every_s, wanted.timezone].join();
  const goesOn = isSame && !known.wanted.paused && !known.ended;
  const changed = { ...known, key, wanted, next: goesOn ? known.next : first };
  await schedules.write(changed);
  return presentSchedule(parts, await schedules.find(tenant, id));
}

/** The first time after `now`. */
function checked(wanted: ScheduleRequest, created_at: number, now: number): number {
  const { cron, every_s, timezone, request } = wanted;
  const refuse = (pointer: string, detail: string) => refusal('invalid-input', [{ pointer, detail }]);
  if ((cron === undefined) === (every_s === undefined))
    throw refuse('/cron', 'or every_s must be given, and not both');
  if (timezone !== undefined && cron === undefined) throw refuse('/timezone', 'belongs to cron');
  if (request.run_at !== undefined || request.delay_s !== undefined)
    throw refuse('/request', 'cannot have run_at or delay_s: the schedule says when');
  if (Buffer.byteLength(JSON.stringify(request)) > MAX_REQUEST_BYTES)
    throw refuse(
      '/request',
      `must have at most ${MAX_REQUEST_BYTES} bytes; upload its files, or name them by URL`,
    );
  try {
    return nextTick(timingOf({ wanted, created_at }), now);
  } catch (error) {
    throw refuse('/cron', `cannot be used with this time zone: ${(error as Error).message}`);
  }
}

export async function presentSchedule(parts: ScheduleParts, schedule: StoredSchedule): Promise<Schedule> {
  const { id, wanted, created_at, next, ended } = schedule;
  const { name, cron = null, timezone = 'UTC', every_s = null, request, catch_up, overlap, paused } = wanted;
  const isActive = !paused && !ended;
  const others = isActive ? nextTicks(timingOf(schedule), next, NEXT_SHOWN - 1) : [];
  return {
    id,
    object: 'schedule',
    name,
    cron,
    timezone: cron === null ? null : timezone,
    every_s,
    request,
    catch_up,
    overlap,
    status: ended ? 'ended' : paused ? 'paused' : 'active',
    created_at: iso(created_at),
    next_runs: (isActive ? [next, ...others] : []).map(iso),
    last_runs: await presentRuns(parts, await parts.schedules.runs(id)),
  };
}

async function presentRuns({ records }: ScheduleParts, runs: readonly StoredRun[]): Promise<ScheduleRun[]> {
  const ids = runs.flatMap(({ job }) => (job && isJobId(job) ? [job] : []));
  const found = (await records.outlines(ids)).records;
  const states = new Map(found.flatMap((record) => (record ? [[record.id, record.state]] : [])));
  return runs.map(({ at, job, note, error }) => ({
    at: iso(at),
    job: job ?? null,
    status: note ?? (job && states.get(job)) ?? 'gone',
    error: error ?? null,
  }));
}

const iso = (ms: number): string => new Date(ms).toISOString();

/**
 * Works on actions that are due, in every API process: page by page, with turns between the actions. A page is written down before the first
 * of its jobs is touched, and a change of the record counts only when no other process has made one (change-action.lua): so after a crash
 * the action goes on at its page, and every job is counted once.
 */
import {
  every,
  type JobActionError,
  type JobId,
  type LehrError,
  type Metrics,
  timeOfId,
  toLehrError,
} from '@lehr/shared';
import { Prioritizer } from '@lehr/shared/queue';
import type { Authenticator, Caller } from '../access/auth/authenticator.ts';
import { type JobPages, listFilterOf } from '../jobs/job-pages.ts';
import { type ActParts, act, applies } from './act.ts';
import { type ActionStore, AT_END, type StoredAction } from './action-store.ts';
import { checkMay } from './create-action.ts';

export type RunActionParts = Omit<ActParts, 'prioritizer'> & {
  readonly jobActions: ActionStore;
  readonly authenticator: Authenticator;
  readonly pages: Pick<JobPages, 'ids'>;
  readonly metrics: ActParts['metrics'] & Pick<Metrics<'api'>, 'jobActions'>;
};
type StepParts = RunActionParts & Pick<ActParts, 'prioritizer'>;

const LOOK_EVERY_MS = 250;
const ACTIONS_AT_ONCE = 4;
/** Longer than a turn; an action of a process that dies waits for so long. */
const HOLD_MS = 10_000;
/** Then other actions have their turn. */
const TURN_MS = 2_000;
const PAGE = 250;
/** Jobs that are done side by side; after them others have as much time of Redis as these took. */
const AT_ONCE = 20;
const MIN_WAIT_MS = 1_000;
const MAX_WAIT_MS = 30_000;
/** After so many turns that an error has ended without a job done, the jobs at which it comes fail. */
const MAX_STALLS = 5;
const MAX_ERRORS = 8;

/** Returns a function that stops it. */
export function runActions(parts: RunActionParts): () => Promise<void> {
  const stepParts = { ...parts, prioritizer: new Prioritizer(parts) };
  return every(
    LOOK_EVERY_MS,
    async (signal) => {
      const ids = await parts.jobActions.take({ count: ACTIONS_AT_ONCE, holdMs: HOLD_MS });
      await Promise.all(ids.map((id) => takeTurn(stepParts, id, signal)));
    },
    { ...parts, failed: 'could not look for actions on jobs; trying again' },
  );
}

async function takeTurn(parts: StepParts, id: string, signal: AbortSignal): Promise<void> {
  const { jobActions, clock, log } = parts;
  const endsAt = clock.monotonic() + TURN_MS;
  let waitMs = 0;
  try {
    while (!signal.aborted && clock.monotonic() < endsAt) {
      const began = clock.monotonic();
      const action = await jobActions.read(id);
      if (!action) return jobActions.forget(id);
      if (action.ended_at !== undefined || !(await step(parts, action))) return;
      await clock.sleep(clock.monotonic() - began);
    }
  } catch (error) {
    const { code, retryAfterS = 0 } = toLehrError(error);
    // The jobs that fill a limit end one by one.
    const askedMs = code === 'rate-limited' ? 0 : retryAfterS * 1000;
    waitMs = Math.min(MAX_WAIT_MS, Math.max(MIN_WAIT_MS, askedMs));
    const isFull = code === 'overloaded' || code === 'rate-limited';
    log[isFull ? 'debug' : 'warn']({ error, action: id, waitMs }, 'an action on jobs waits');
  }
  await jobActions.postpone(id, waitMs);
}

/** Does a little; false when the action has ended, or another process has it. Rejects when it has to wait. */
async function step(parts: StepParts, action: StoredAction): Promise<boolean> {
  if (action.status === 'canceling') return endAction(parts, action, 'canceled');
  const caller = await parts.authenticator.find(action.key);
  if (!caller || !mayStill(caller, action)) return endAction(parts, action, 'failed');
  if (action.page.length > 0) return actOnPage(parts, caller, action);
  if (action.cursor === AT_END) return endAction(parts, action, 'completed');
  return findPage(parts, action);
}

function mayStill(caller: Caller, { action, tenant }: StoredAction): boolean {
  try {
    checkMay(caller, action, tenant);
    return true;
  } catch {
    return false;
  }
}

async function endAction(
  { jobActions }: StepParts,
  action: StoredAction,
  status: 'completed' | 'canceled' | 'failed',
): Promise<false> {
  const { matched, done, skipped, failed } = action;
  await jobActions.change(action, {
    set: { status, ended_at: await jobActions.now() },
    audit: {
      action: 'jobs.action-ended',
      address: null,
      changes: { action: action.action, status, matched, done, skipped, failed },
    },
  });
  return false;
}

/** Writes down the next jobs, those that the action applies to. */
async function findPage(parts: StepParts, action: StoredAction): Promise<boolean> {
  const { jobActions, pages, records, metrics, clock } = parts;
  const cursor = action.cursor === '' ? undefined : action.cursor;
  const query = { ...listFilterOf(action.filter), limit: PAGE, cursor };
  const { shown, next } = await pages.ids(action.tenant, query);
  const { records: found } = await records.outlines(shown);
  const page = shown.filter((_, i) => {
    const job = found[i];
    return job && applies(action.action, action.priority, job);
  });
  // The list is newest first; of a page, the oldest waits longest and is first.
  page.reverse();
  const skipped = shown.length - page.length;
  // Greater than the time of the action, whatever the clocks of processes say: a job that repeats another one is not found by it.
  const page_at = Math.max(clock.now(), timeOfId(action.id) + 1);
  const changed = await jobActions.change(action, {
    set: { cursor: next ?? AT_END, page, page_at },
    add: { matched: shown.length, skipped },
  });
  if (changed !== 'ok') return false;
  metrics.jobActions.inc({ action: action.action, outcome: 'skipped' }, skipped);
  return true;
}

async function actOnPage(parts: StepParts, caller: Caller, action: StoredAction): Promise<boolean> {
  const { jobActions, metrics } = parts;
  const ids = action.page.slice(0, AT_ONCE);
  const results = await Promise.allSettled(ids.map((id) => act(parts, caller, action, id)));
  const counts = { done: 0, skipped: 0, failed: 0 };
  let { errors } = action;
  const again: JobId[] = [];
  let reason: LehrError | undefined;
  for (const [i, result] of results.entries()) {
    if (result.status === 'fulfilled') {
      counts[result.value] += 1;
      continue;
    }
    const error = toLehrError(result.reason);
    if (mayWait(error, action)) {
      again.push(ids[i]);
      reason ??= error;
    } else {
      counts.failed += 1;
      errors = withError(errors, ids[i], error);
    }
  }
  const changed = await jobActions.change(action, {
    set: {
      page: [...again, ...action.page.slice(ids.length)],
      errors,
      stalls: again.length === ids.length ? action.stalls + 1 : 0,
    },
    add: counts,
  });
  if (changed !== 'ok') return false;
  for (const [outcome, count] of Object.entries(counts))
    metrics.jobActions.inc({ action: action.action, outcome }, count);
  if (reason) throw reason;
  return true;
}

/** What ends by itself is waited for however long; other errors of the server for a while. */
const mayWait = ({ code, retryable }: LehrError, { stalls }: StoredAction): boolean =>
  retryable && (code === 'overloaded' || code === 'rate-limited' || stalls < MAX_STALLS);

function withError(errors: readonly JobActionError[], job: JobId, error: LehrError): JobActionError[] {
  const { code, message: detail } = error;
  if (errors.some((each) => each.code === code))
    return errors.map((each) => (each.code === code ? { ...each, count: each.count + 1 } : each));
  return [...errors, { code, count: 1, job, detail }].slice(0, MAX_ERRORS);
}

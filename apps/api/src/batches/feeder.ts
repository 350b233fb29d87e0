/**
 * Works on batches that are due, in every API process; each batch is with one of them at a time. A turn collects the slices whose jobs have
 * all ended, and makes the jobs of the next ones, as the key's limits and the fleet allow. Whatever a turn does may be done again after a
 * crash: a line has the same job id every time (jobIdsOfSlice), and a slice the same part.
 */
import {
  type BatchId,
  every,
  type JobId,
  jobIdsOfSlice,
  LehrError,
  type Metrics,
  toLehrError,
} from '@lehr/shared';
import type { Caller } from '../access/auth/authenticator.ts';
import { Quotas } from '../access/quotas.ts';
import { cancelJob } from '../jobs/cancel.ts';
import { inNames } from '../jobs/requests/field-names.ts';
import { type CallParts, countJob } from '../jobs/requests/make-job.ts';
import { submitJob } from '../jobs/submit.ts';
import { type BatchRecord, isEnded, type LineFault, type OpenSlice, type Reason } from './batch-store.ts';
import { type CollectParts, collectSlice } from './collect.ts';
import type { BatchEndpoints } from './endpoints.ts';
import { type FillParts, fillSlices } from './fill.ts';
import { finishBatch } from './finish.ts';
import { type NumberedLine, readSlice } from './slices.ts';

export interface FeedParts extends CallParts, CollectParts, FillParts {
  readonly metrics: Metrics<'api'>;
  readonly batchEndpoints: BatchEndpoints;
  readonly outputTtlMs: number;
}

const LOOK_EVERY_MS = 250;
const BATCHES_AT_ONCE = 4;
/** Longer than a turn; a batch of a process that dies waits for so long. */
const HOLD_MS = 10_000;
/** Then other batches have their turn. */
const TURN_MS = 2_000;
/** Slices that are not collected. The jobs of a batch in Redis are at most those of so many. */
const MAX_OPEN = 4;
const LINES_AT_ONCE = 25;
/** Nothing wakes a batch whose jobs were lost with the log of Redis. */
const LOOK_AGAIN_MS = 30_000;
const MIN_WAIT_MS = 1_000;
const MAX_WAIT_MS = 30_000;
/** Of what its tenant may have, so that there is room for other jobs. */
const SHARE = 0.5;

/** Returns a function that stops. */
export const feedBatches = (shared: FeedParts): (() => Promise<void>) => {
  // A batch that waits for room must not keep other requests of its key waiting.
  const parts = { ...shared, quotas: new Quotas(shared.redis, shared.keys, shared.clock) };
  return every(
    LOOK_EVERY_MS,
    async (signal) => {
      const ids = await parts.batches.take({ count: BATCHES_AT_ONCE, holdMs: HOLD_MS });
      await Promise.all(ids.map((id) => takeTurn(parts, id, signal)));
    },
    { ...parts, failed: 'could not look for batches; trying again' },
  );
};

/** One turn. A batch that cannot go on now is due again a little later. */
async function takeTurn(parts: FeedParts, id: BatchId, signal: AbortSignal): Promise<void> {
  const { batches, log } = parts;
  await batches.enter(id);
  let waitMs = MIN_WAIT_MS;
  try {
    waitMs = await new Turn(parts, id, signal).run();
  } catch (error) {
    const { code, retryAfterS = 0 } = toLehrError(error);
    // The jobs that fill a limit end one by one, long before their slice does.
    const askedMs = code === 'rate-limited' ? 0 : retryAfterS * 1000;
    waitMs = Math.min(MAX_WAIT_MS, Math.max(MIN_WAIT_MS, askedMs));
    if (code === 'internal') await batches.noteStall(id);
    if (code === 'gone') await endWithoutLines(parts, id);
    const isFull = code === 'overloaded' || code === 'rate-limited';
    log[isFull ? 'debug' : 'warn']({ error, batch: id, waitMs }, 'a batch waits');
  }
  await batches.release(id, waitMs);
}

/**
 * Ends a batch that was cancelled or whose window is over, and whose lines are no longer in the store. What is not collected counts as
 * failed, and its jobs run to their end.
 */
async function endWithoutLines(parts: FeedParts, id: BatchId): Promise<void> {
  const batch = await parts.batches.read(id);
  if (!batch || isEnded(batch)) return;
  const isLate = (await parts.batches.now()) >= batch.expires_at;
  const reason = batch.reason ?? (isLate ? 'expired' : undefined);
  if (reason) await finishBatch(parts, batch, reason);
}

class Turn {
  readonly #parts: FeedParts;
  readonly #id: BatchId;
  readonly #signal: AbortSignal;
  readonly #endsAt: number;

  constructor(parts: FeedParts, id: BatchId, signal: AbortSignal) {
    this.#parts = parts;
    this.#id = id;
    this.#signal = signal;
    this.#endsAt = parts.clock.monotonic() + TURN_MS;
  }

  /** Resolves with the time until the next turn, ms. Rejects when the batch has to wait. */
  async run(): Promise<number> {
    for (;;) {
      const batch = await this.#parts.batches.read(this.#id);
      if (!batch || isEnded(batch)) return LOOK_AGAIN_MS;
      if (this.#signal.aborted || this.#parts.clock.monotonic() > this.#endsAt) return 0;
      if (await this.#step(batch)) continue;
      if (batch.reason !== undefined) return LOOK_AGAIN_MS;
      return Math.min(LOOK_AGAIN_MS, Math.max(0, batch.expires_at - (await this.#parts.batches.now())));
    }
  }

  /** Does one thing; false when there is nothing to do. */
  async #step(batch: BatchRecord): Promise<boolean> {
    const parts = this.#parts;
    const done = batch.open.find((slice) => hasEnded(slice, batch));
    if (done) {
      await collectSlice(parts, batch, done);
      return true;
    }
    if (batch.state === 'validating' && batch.reason === undefined) {
      await fillSlices(parts, batch);
      return true;
    }
    if (batch.reason !== undefined) return this.#endStep(batch, batch.reason);
    if (batch.collected === batch.slices) {
      // Before its files and its webhook: a cancellation must not change what these say.
      await parts.batches.end(batch.id, 'completed');
      return true;
    }
    if ((await parts.batches.now()) >= batch.expires_at) return parts.batches.end(batch.id, 'expired');
    if (batch.next === batch.slices) return this.#noteLast(batch);
    if (batch.open.filter(({ slice }) => slice !== batch.next).length >= MAX_OPEN) return false;
    const caller = await parts.authenticator.find(batch.key);
    if (!caller?.scopes.has('submit')) return this.#loseKey(batch);
    await submitSlice(parts, { ...caller, limits: shareOf(caller.limits) }, batch, this.#endsAt);
    return true;
  }

  /** The last jobs are made. */
  async #noteLast(batch: BatchRecord): Promise<boolean> {
    if (batch.state === 'ending') return false;
    await this.#parts.batches.write(batch.id, {
      state: 'ending',
      ending_at: await this.#parts.batches.now(),
    });
    return true;
  }

  async #loseKey({ id }: BatchRecord): Promise<boolean> {
    const message = 'The key that made this batch was revoked, has expired, or may not make jobs any more.';
    const errors = [{ code: 'key_not_valid', message, param: null, line: null }];
    return this.#parts.batches.end(id, 'failed', { errors });
  }

  /** No more jobs are made; those that there are are cancelled, or run to their end when the key was revoked. */
  async #endStep(batch: BatchRecord, reason: Reason): Promise<boolean> {
    const parts = this.#parts;
    if (batch.state !== 'ending') {
      await parts.batches.write(batch.id, { state: 'ending', ending_at: await parts.batches.now() });
      return true;
    }
    if (batch.next < batch.slices) {
      await closeUnsent(parts, batch, reason);
      return true;
    }
    if (batch.collected === batch.slices) return this.#finish(batch, reason);
    if (reason !== 'failed') for (const open of batch.open) await cancelSlice(parts, batch, open);
    return false;
  }

  async #finish(batch: BatchRecord, reason: Reason): Promise<boolean> {
    await finishBatch(this.#parts, batch, reason);
    return true;
  }
}

const hasEnded = ({ slice, jobs, ended }: OpenSlice, { next }: BatchRecord): boolean =>
  slice < next && jobs !== undefined && ended >= jobs;

const shareOf = (limits: Caller['limits']): Caller['limits'] => {
  const part = (limit: number | null) => (limit === null ? null : Math.max(1, Math.floor(limit * SHARE)));
  const { max_backlog_share: backlog } = limits;
  return {
    ...limits,
    max_jobs: part(limits.max_jobs),
    max_queued: part(limits.max_queued),
    max_backlog_share: backlog === null ? null : backlog * SHARE,
  };
};

/** After so many turns that an error of the server has ended, the line at which it comes fails. */
const MAX_STALLS = 5;

/** Makes the jobs of the next slice, from the line at which an earlier turn stopped, until the turn is over. */
async function submitSlice(
  parts: FeedParts,
  caller: Caller,
  batch: BatchRecord,
  endsAt: number,
): Promise<void> {
  const { batches, clock } = parts;
  const { id, next } = batch;
  const idOf = jobIdsOfSlice(id, await batches.begin(id, next));
  const { lines } = await readSlice(parts.store, batch, next);
  const refused = await batches.refused(id, next);
  for (let sent = batch.sent; sent < lines.length; ) {
    const chunk = lines.slice(sent, sent + LINES_AT_ONCE);
    // All have their answers before this turn ends: no job is made while the next one decides what has become of the slice.
    const results = await Promise.allSettled(
      chunk.map((line) => submitLine(parts, caller, batch, line, idOf(line.line))),
    );
    const waiting = results.findIndex(({ status }) => status === 'rejected');
    const done = waiting === -1 ? chunk.length : waiting;
    for (const [i, result] of results.slice(0, done).entries())
      if (result.status === 'fulfilled' && result.value) refused[sent + i] = result.value;
    sent += done;
    const isLast = sent === lines.length;
    const jobs = lines.length - Object.keys(refused).length;
    await batches.write(id, {
      ...(Object.keys(refused).length > 0 && { [`bad:${next}`]: refused }),
      ...(isLast ? { [`jobs:${next}`]: jobs, next: next + 1, sent: 0 } : { sent }),
      ...(waiting === -1 && { stalls: 0 }),
      ...(batch.in_progress_at === undefined && { in_progress_at: await batches.now() }),
    });
    if (waiting !== -1) throw (results[waiting] as PromiseRejectedResult).reason;
    if (clock.monotonic() > endsAt) return;
  }
}

/** Why the line is refused; undefined when it has its job. Rejects when the line can be tried again. */
async function submitLine(
  parts: FeedParts,
  caller: Caller,
  batch: BatchRecord,
  { body }: NumberedLine,
  id: JobId,
): Promise<LineFault | undefined> {
  try {
    const endpoint = parts.batchEndpoints[batch.endpoint];
    if (!endpoint) throw new LehrError('not-found', `Nothing serves ${batch.endpoint} in a batch.`);
    const request = { priority: batch.priority, ...(await endpoint.requestOf(body, caller)) };
    const options = { id, batch: `${batch.id} ${batch.next}` };
    const { record, how } = await submitJob(parts, caller, request, {}, options).catch((error) => {
      throw endpoint.names ? inNames(error, endpoint.names) : error;
    });
    if (how === 'new') countJob(parts, record);
    return undefined;
  } catch (error) {
    const { code, message, problems, retryable } = toLehrError(error);
    if (retryable && !(code === 'internal' && batch.stalls >= MAX_STALLS)) throw error;
    return { code, message, ...(problems.length > 0 && { problems: problems.slice(0, 1) }) };
  }
}

/** The batch ends before all jobs of this slice are made: its other lines are not run. */
async function closeUnsent(parts: FeedParts, batch: BatchRecord, reason: Reason): Promise<void> {
  const { id, next } = batch;
  const idOf = jobIdsOfSlice(id, await parts.batches.begin(id, next));
  const { lines } = await readSlice(parts.store, batch, next);
  const refused = await parts.batches.refused(id, next);
  const { missing } = await parts.records.outlines(lines.map(({ line }) => idOf(line)));
  const isMissing = new Set<string>(missing);
  for (const [i, { line }] of lines.entries())
    if (i >= batch.sent && isMissing.has(idOf(line)))
      refused[i] = {
        code: `batch_${reason}`,
        message: `The batch ${UNSENT[reason]} before this line was run.`,
      };
  const jobs = lines.length - Object.keys(refused).length;
  await parts.batches.write(id, {
    [`bad:${next}`]: refused,
    [`jobs:${next}`]: jobs,
    next: next + 1,
    sent: 0,
  });
}

const UNSENT: Readonly<Record<Reason, string>> = {
  completed: 'was completed',
  cancelled: 'was cancelled',
  expired: 'expired',
  failed: 'failed',
};

async function cancelSlice(parts: FeedParts, batch: BatchRecord, { slice, at }: OpenSlice): Promise<void> {
  const { lines } = await readSlice(parts.store, batch, slice);
  const idOf = jobIdsOfSlice(batch.id, at);
  const ids = lines.map(({ line }) => idOf(line));
  const { records } = await parts.records.outlines(ids);
  for (const record of records) if (record && !('finished_at' in record)) await cancelJob(parts, record);
}

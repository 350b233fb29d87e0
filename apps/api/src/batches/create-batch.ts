/** Makes batches: of a file, of requests, of a sweep, or of what failed in another one. */

import { setImmediate } from 'node:timers/promises';
import {
  type Batch,
  type BatchEstimate,
  type BatchRequest,
  LehrError,
  MAX_SWEEP_LINES,
  newBatchId,
} from '@lehr/shared';
import type { ObjectStore } from '@lehr/shared/objects';
import type { Caller } from '../access/auth/authenticator.ts';
import { QuotaError } from '../access/quotas.ts';
import { refusal } from '../base/field-problems.ts';
import { checkUrl } from '../webhooks/hook.ts';
import type { BatchStore, NewBatch } from './batch-store.ts';
import { type EstimateParts, estimateBatch } from './estimate.ts';
import { presentBatch } from './present-batch.ts';
import { customIdOf, deleteLines, SliceWriter, writeSweep } from './slices.ts';
import { pointerIn, sampleLines, sweepCount } from './sweep.ts';

export interface CreateParts extends EstimateParts {
  readonly batches: BatchStore;
  readonly store: ObjectStore;
}

/** A guess: a batch ends at any time. */
const RETRY_S = 60;
const CHECKED_AT_ONCE = 100;
const HOUR_MS = 3_600_000;

/** Throws `invalid-input`, `not-found` for a file, and QuotaError; then there is no batch. */
export async function createBatch(
  parts: CreateParts,
  caller: Caller,
  request: BatchRequest,
): Promise<Batch | BatchEstimate> {
  const { tenant, keyId } = caller;
  const { completion_window, metadata, priority, endpoint } = request;
  const webhook = request.webhook?.url;
  const asked = { completion_window, metadata, priority, endpoint, webhook };
  const shared = { id: newBatchId(), tenant, key: keyId, ...asked };
  if (webhook !== undefined) checkUrl(parts.webhooks.egress, webhook, '/webhook/url');
  if (!parts.batchEndpoints[endpoint])
    throw refusal('invalid-input', [{ pointer: '/endpoint', detail: 'is not served in batches' }]);
  checkTimes(parts, request);
  await checkLines(parts, caller, request);
  if (request.dry_run) return estimateBatch(parts, caller, request);
  return add(parts, caller, { ...shared, ...(await linesOf(parts, request, shared)) });
}

/** Throws `conflict` for a batch that has not ended or of which nothing failed. */
export async function retryBatch(parts: CreateParts, caller: Caller, id: string): Promise<Batch> {
  const { tenant, keyId: key } = caller;
  const batch = await parts.batches.find(tenant, id);
  if (batch.ended_at === undefined) throw new LehrError('conflict', 'The batch has not ended.');
  if (batch.failed === 0) throw new LehrError('conflict', 'No line of the batch has failed.');
  const { completion_window, metadata, priority, endpoint, webhook } = batch;
  const asked = { completion_window, metadata, priority, endpoint, webhook };
  const shared = { id: newBatchId(), tenant, key, ...asked };
  const source = { from: 'retry' as const, batch: batch.id };
  return add(parts, caller, { ...shared, source, state: 'validating', total: 0, slices: 0 });
}

async function add(
  { batches, store }: CreateParts,
  { tenant, limits }: Caller,
  batch: NewBatch,
): Promise<Batch> {
  const { max_batches: max } = limits;
  const isMade = await batches.create(batch, max).catch(async (error) => {
    await discard(batches, store, batch).catch(() => {});
    throw error;
  });
  if (!isMade) {
    await deleteLines(store, batch);
    throw new QuotaError(`This tenant may have ${max} batches that have not ended (max_batches).`, {
      limit: max ?? 0,
      remaining: 0,
      resetS: RETRY_S,
    });
  }
  return presentBatch(await batches.find(tenant, batch.id));
}

/** A Redis that is full says so before it stores anything. One that did not answer in time may have stored the batch. */
async function discard(batches: BatchStore, store: ObjectStore, batch: NewBatch): Promise<void> {
  if (!(await batches.read(batch.id))) await deleteLines(store, batch);
}

type Lines = Pick<NewBatch, 'source' | 'state' | 'total' | 'slices'>;

async function linesOf(
  { store }: CreateParts,
  { input_file_id, requests, sweep }: BatchRequest,
  batch: Pick<NewBatch, 'id' | 'tenant' | 'completion_window'>,
): Promise<Lines> {
  if (sweep) {
    const total = sweepCount(sweep);
    const slice_lines = await writeSweep(store, batch, sweep);
    const slices = Math.ceil(total / slice_lines);
    return { source: { from: 'sweep', slice_lines }, state: 'in_progress', total, slices };
  }
  if (requests) {
    const source = { from: 'requests' as const };
    const writer = new SliceWriter(store, batch);
    try {
      for (const [i, body] of requests.entries()) await writer.add({ custom_id: customIdOf(i), body });
      await writer.flush();
    } catch (error) {
      // Also the slice that failed: a store may have kept what it did not answer.
      await deleteLines(store, { ...batch, source, slices: writer.slices + 1 }).catch(() => {});
      throw error;
    }
    return { source, state: 'in_progress', total: writer.lines, slices: writer.slices };
  }
  return { source: { from: 'file', file: input_file_id ?? '' }, state: 'validating', total: 0, slices: 0 };
}

async function checkLines(
  parts: CreateParts,
  caller: Caller,
  { input_file_id, requests, sweep }: BatchRequest,
): Promise<void> {
  const { max_batch_lines: most } = caller.limits;
  if (sweep) {
    checkCount('/sweep', sweepCount(sweep), Math.min(MAX_SWEEP_LINES, most ?? MAX_SWEEP_LINES));
    return checkSweep(parts, caller, sweep);
  }
  if (requests) return checkCount('/requests', requests.length, most ?? requests.length);
  const file = await parts.files.find(caller.tenant, input_file_id ?? '');
  if (file.purpose !== undefined && file.purpose !== 'batch')
    throw refusal('invalid-input', [
      { pointer: '/input_file_id', detail: 'must be a file with the purpose batch' },
    ]);
}

function checkCount(pointer: string, count: number, most: number): void {
  if (count > most)
    throw refusal('invalid-input', [{ pointer, detail: `has ${count} jobs, and may have at most ${most}` }]);
}

/** A job whose time comes after the window would never run. */
function checkTimes({ clock }: CreateParts, { sweep, requests, completion_window }: BatchRequest): void {
  const windowMs = Number.parseInt(completion_window, 10) * HOUR_MS;
  const places: [string, Readonly<Record<string, unknown>>][] = sweep
    ? [['/sweep/request', sweep.request]]
    : (requests ?? []).map((each, i) => [`/requests/${i}`, each]);
  for (const [pointer, { run_at, delay_s }] of places) {
    const isLate = {
      run_at: typeof run_at === 'string' && Date.parse(run_at) - clock.now() >= windowMs,
      delay_s: typeof delay_s === 'number' && delay_s * 1000 >= windowMs,
    };
    for (const [name, is] of Object.entries(isLate))
      if (is) {
        const detail = `is after the completion_window of ${completion_window}, in which its job would not run`;
        throw refusal('invalid-input', [{ pointer: `${pointer}/${name}`, detail }]);
      }
  }
}

/** Every value of every list is checked once; other callers have their turns meanwhile. */
async function checkSweep(
  { batchEndpoints }: CreateParts,
  caller: Caller,
  sweep: NonNullable<BatchRequest['sweep']>,
): Promise<void> {
  let checked = 0;
  for (const sample of sampleLines(sweep)) {
    checked += 1;
    if (checked % CHECKED_AT_ONCE === 0) await setImmediate();
    try {
      await batchEndpoints['/v1/jobs']?.requestOf(sample.request, caller);
    } catch (error) {
      if (!(error instanceof LehrError) || error.problems.length === 0) throw error;
      const placed = error.problems.map((each) => ({
        ...each,
        pointer: pointerIn(sweep, sample, each.pointer),
      }));
      throw refusal(error.code, placed);
    }
  }
}

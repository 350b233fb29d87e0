/** What has become of the lines of a batch so far: from the records of its open slices, and from the parts of those that are collected. */
import { type BatchLine, type JobId, jobIdsOfSlice, LehrError } from '@lehr/shared';
import { type JobRecord, parseStoredRecord, type RecordStore } from '@lehr/shared/records';
import type { Presenter } from '../jobs/present.ts';
import type { BatchReads } from './batch-reads.ts';
import type { BatchRecord, BatchStore, LineFault, OpenSlice } from './batch-store.ts';
import { GONE } from './collect.ts';
import type { LineResult } from './slices.ts';

export interface LineParts {
  readonly batches: BatchStore;
  readonly records: RecordStore;
  readonly presenter: Presenter;
  readonly batchReads: BatchReads;
}

interface Place {
  readonly slice: number;
  /** In the slice, from 0. */
  readonly first: number;
}

export interface LinePage {
  readonly lines: readonly BatchLine[];
  readonly next: string | undefined;
}

/** A page ends where its slice does, because slices of a file have as many lines as fit. */
export async function pageOfLines(
  parts: LineParts,
  batch: BatchRecord,
  limit: number,
  cursor: string | undefined,
): Promise<LinePage> {
  const { slice, first } = placeOf(cursor);
  if (slice >= batch.slices) return { lines: [], next: undefined };
  const open = batch.open.find((each) => each.slice === slice);
  // Those after `next` have not begun: their jobs are not made.
  const isCollected = open === undefined && slice < batch.next;
  const needsSlice = !isCollected || batch.source.from === 'sweep';
  const asked = needsSlice ? await parts.batchReads.slice(batch, slice) : [];
  const all: readonly LineResult[] = isCollected ? await parts.batchReads.part(batch, slice) : asked;
  const shown = all.slice(first, first + limit);
  const states = open ? await openStates(parts, batch, open, shown, first) : shown.map(stateOf);
  if (open && states.some(({ record, error }) => !record && (!error || error === GONE))) {
    // What is kept of an open slice goes when its answers are stored, which may have been now.
    const later = await parts.batches.find(batch.tenant, batch.id);
    if (!later.open.some((each) => each.slice === slice)) return pageOfLines(parts, later, limit, cursor);
  }
  const lines = await Promise.all(states.map((state, i) => present(parts, state, asked[first + i]?.values)));
  if (first + limit < all.length) return { lines, next: `${slice}.${first + limit}` };
  return { lines, next: slice + 1 < batch.slices ? `${slice + 1}.0` : undefined };
}

function placeOf(cursor = '0.0'): Place {
  const [, slice, first] = /^(\d{1,6})\.(\d{1,6})$/.exec(cursor) ?? [];
  if (slice === undefined) throw new LehrError('invalid-request', 'The cursor is not one of this list.');
  return { slice: Number(slice), first: Number(first) };
}

interface LineState {
  readonly line: number;
  readonly custom_id: string;
  readonly record?: JobRecord | undefined;
  readonly error?: LineFault | undefined;
}

const stateOf = ({ line, custom_id, record, error }: LineResult): LineState => ({
  line,
  custom_id,
  record: record && parseStoredRecord(record.id as JobId, record),
  error,
});

/** `first`: the number of the first of the lines in their slice. */
async function openStates(
  { records, batches }: LineParts,
  { id }: BatchRecord,
  { slice, at, jobs }: OpenSlice,
  lines: readonly LineResult[],
  first: number,
): Promise<LineState[]> {
  const refused = await batches.refused(id, slice);
  const idOf = jobIdsOfSlice(id, at);
  const found = await records.readMany(lines.map(({ line }) => idOf(line)));
  return lines.map(({ line, custom_id }, i) => ({
    line,
    custom_id,
    record: found[i],
    error: refused[first + i] ?? (found[i] === undefined && jobs !== undefined ? GONE : undefined),
  }));
}

const present = async (
  { presenter }: LineParts,
  { line, custom_id, record, error }: LineState,
  values: BatchLine['values'],
): Promise<BatchLine> => ({
  line: line + 1,
  custom_id,
  ...(values && { values }),
  ...(record && { job: await presenter.job(record, { brief: true }) }),
  ...(error && { error: { code: error.code, message: error.message } }),
});

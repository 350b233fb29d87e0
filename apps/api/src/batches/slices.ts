/**
 * The lines and the answers of batches, in the object store. Lines are copied into slices of a few hundred, because no store reads a file from
 * its middle; each slice gets one part of answers. The time in the names of their folders is the end of the batch, so the sweep of old
 * outputs removes them when the batch has been kept long enough.
 */
import { batchFolderName, LehrError, type ObjectKey, type Sweep, timeOfId, toObjectKey } from '@lehr/shared';
import type { ObjectStore } from '@lehr/shared/objects';
import type { BatchRecord, LineFault, NewBatch } from './batch-store.ts';
import { requestWith, sweepLineBytes, sweepValues } from './sweep.ts';

const SLICE_LINES = 250;
/** Read and written at once, and four slices of a batch are open: jobs with pictures inside must be enough for a fleet. */
const SLICE_BYTES = 2_000_000;
const HOUR_MS = 3_600_000;
const DIGITS = 5;
const JSON_LINES = { contentType: 'application/jsonl' };

export interface Line {
  readonly custom_id: string;
  readonly body: unknown;
}

type BatchPlace = Pick<BatchRecord, 'id' | 'tenant' | 'completion_window'>;

const keyOf = (
  root: 'in' | 'out',
  { id, tenant, completion_window }: BatchPlace,
  name: string,
): ObjectKey => {
  const endsAt = timeOfId(id) + Number.parseInt(completion_window, 10) * HOUR_MS;
  return toObjectKey(`${root}/${tenant}/${batchFolderName(id, endsAt)}/${name}`);
};
const sliceKey = (batch: BatchPlace, slice: number): ObjectKey =>
  keyOf('in', batch, `slice-${String(slice).padStart(DIGITS, '0')}`);
const partKey = (batch: BatchPlace, slice: number): ObjectKey =>
  keyOf('out', batch, `part-${String(slice).padStart(DIGITS, '0')}`);

/** Copies lines into slices. */
export class SliceWriter {
  readonly #store: ObjectStore;
  readonly #batch: BatchPlace;
  #texts: string[] = [];
  #bytes = 0;
  slices = 0;
  lines = 0;

  constructor(store: ObjectStore, batch: BatchPlace) {
    this.#store = store;
    this.#batch = batch;
  }

  async add(line: Line): Promise<void> {
    const text = JSON.stringify({ line: this.lines, custom_id: line.custom_id, body: line.body });
    this.#texts.push(text);
    this.#bytes += Buffer.byteLength(text);
    this.lines += 1;
    if (this.#texts.length >= SLICE_LINES || this.#bytes >= SLICE_BYTES) await this.flush();
  }

  async flush(): Promise<void> {
    if (this.#texts.length === 0) return;
    const body = Buffer.from(`${this.#texts.join('\n')}\n`);
    await this.#store.put(sliceKey(this.#batch, this.slices), body, JSON_LINES);
    this.slices += 1;
    this.#texts = [];
    this.#bytes = 0;
  }
}

const sweepKey = (batch: BatchPlace): ObjectKey => keyOf('in', batch, 'sweep');

/** Keeps a sweep, whose slices are made when they are read. Resolves with the number of lines of each. */
export async function writeSweep(store: ObjectStore, batch: BatchPlace, sweep: Sweep): Promise<number> {
  await store.put(sweepKey(batch), Buffer.from(JSON.stringify(sweep)), { contentType: 'application/json' });
  return Math.min(SLICE_LINES, Math.max(1, Math.floor(SLICE_BYTES / sweepLineBytes(sweep))));
}

type WrittenLines = BatchPlace & Pick<NewBatch, 'source' | 'slices'>;

/** Of a batch that was not made. */
export const deleteLines = (store: ObjectStore, { slices, source, ...batch }: WrittenLines): Promise<void> =>
  store.deleteMany(
    source.from === 'sweep'
      ? [sweepKey(batch)]
      : Array.from({ length: slices }, (_, slice) => sliceKey(batch, slice)),
  );

/** A line with its number in the batch, from 0. */
export interface NumberedLine extends Line {
  readonly line: number;
  /** Of a sweep: the value of each list. */
  readonly values?: Readonly<Record<string, unknown>>;
}

/** What was read of the store, and its bytes there. */
export interface Read<Each> {
  readonly lines: readonly Each[];
  readonly bytes: number;
}

export async function readSlice(
  store: ObjectStore,
  batch: BatchRecord,
  slice: number,
): Promise<Read<NumberedLine>> {
  const { source, total } = batch;
  if (source.from !== 'sweep') return jsonLines(await textOf(store, sliceKey(batch, slice)));
  const text = await textOf(store, sweepKey(batch));
  // Checked when it was posted: a large one takes longer to check than the jobs of a slice to make.
  const sweep = JSON.parse(text) as Sweep;
  const first = slice * source.slice_lines;
  const lines = Array.from({ length: Math.min(source.slice_lines, total - first) }, (_, i) => {
    const line = first + i;
    const values = sweepValues(sweep, line);
    return { line, custom_id: customIdOf(line), body: requestWith(sweep, values), values };
  });
  return { lines, bytes: Buffer.byteLength(text) };
}

/** Of a line whose caller has given none. */
export const customIdOf = (line: number): string => `line-${line + 1}`;

/** What became of a line: the record of its job as Redis had it, or why it has none. */
export interface LineResult {
  readonly line: number;
  readonly custom_id: string;
  readonly record?: Readonly<Record<string, string>>;
  readonly error?: LineFault;
}

export async function writePart(
  store: ObjectStore,
  batch: BatchPlace,
  slice: number,
  results: readonly LineResult[],
): Promise<void> {
  const body = Buffer.from(results.map((each) => `${JSON.stringify(each)}\n`).join(''));
  await store.put(partKey(batch, slice), body, JSON_LINES);
}

export const readPart = async (
  store: ObjectStore,
  batch: BatchPlace,
  slice: number,
): Promise<Read<LineResult>> => jsonLines(await textOf(store, partKey(batch, slice)));

async function textOf(store: ObjectStore, key: ObjectKey): Promise<string> {
  const object = await store.get(key);
  if (!object) throw new LehrError('gone', 'The lines of this batch have been deleted.');
  return new Response(object.body).text();
}

const jsonLines = <Each>(text: string): Read<Each> => ({
  lines: text
    .split('\n')
    .filter((each) => each !== '')
    .map((each) => JSON.parse(each) as Each),
  bytes: Buffer.byteLength(text),
});

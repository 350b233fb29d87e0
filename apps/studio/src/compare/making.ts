/**
 * The jobs of a comparison. They are ordinary jobs: they are in the gallery, and the limits of the key count. They are followed with
 * one request a second for all of them, because browsers open few event streams to one server.
 */
import { isOver, type Job, LehrError } from '@lehr/client';
import { computed, signal } from '@preact/signals';
import { rememberPrompt } from '../make/prompts.ts';
import { type Fault, faultOf } from '../wire/fault.ts';
import { lehr, lehrOnce } from '../wire/lehr.ts';
import { pause } from '../wire/pause.ts';
import { type CellPlan, type Comparison, cellsOf } from './comparison.ts';

export interface Cell extends CellPlan {
  readonly job?: Job;
  /** Why its job could not be made or followed. */
  readonly fault?: Fault;
}

export interface Made {
  readonly comparison: Comparison;
  readonly cells: readonly Cell[];
}

const EVERY_MS = 1_000;
/** The most jobs of a page: a comparison has fewer. */
const PAGE = 100;

export const made = signal<Made | undefined>(undefined);
export const isCanceling = signal(false);
let current = new AbortController();

export const isOpen = ({ job, fault }: Cell): boolean => fault === undefined && (!job || !isOver(job));
export const isBusy = computed(() => made.value?.cells.some(isOpen) === true);

export async function makeAll(comparison: Comparison): Promise<void> {
  current.abort();
  current = new AbortController();
  const { signal: stopped } = current;
  isCanceling.value = false;
  made.value = { comparison, cells: cellsOf(comparison) };
  rememberPrompt(comparison.prompt);
  void followAll(stopped);
  for (const index of made.value.cells.keys()) {
    // One after the other, so that the first ones run while the others are made.
    await makeOne(index, stopped);
    if (stopped.aborted) return;
  }
}

async function makeOne(index: number, stopped: AbortSignal): Promise<void> {
  const cell = made.value?.cells[index];
  if (!cell || cell.fault) return;
  try {
    const job = await lehr.submit(cell.request, { signal: stopped });
    change(stopped, index, { job });
    // Canceled while it was sent.
    if (isCanceling.value) await cancelOne(index, job.id, stopped);
  } catch (error) {
    change(stopped, index, { fault: faultOf(error) });
  }
}

/** Cancels what has not ended, and makes no more. */
export async function cancelAll(): Promise<void> {
  const { signal: stopped } = current;
  isCanceling.value = true;
  const cells = made.value?.cells ?? [];
  await Promise.all(
    cells.map(async (cell, index) => {
      if (!isOpen(cell)) return;
      if (cell.job) await cancelOne(index, cell.job.id, stopped);
      else change(stopped, index, { fault: { message: '', fields: {} } });
    }),
  );
}

async function cancelOne(index: number, id: string, stopped: AbortSignal): Promise<void> {
  try {
    change(stopped, index, { job: await lehr.cancel(id, { signal: stopped }) });
  } catch (error) {
    change(stopped, index, { fault: faultOf(error) });
  }
}

async function followAll(stopped: AbortSignal): Promise<void> {
  while (!stopped.aborted) {
    await pause(EVERY_MS, stopped);
    const open = (made.value?.cells ?? []).flatMap((cell) => (isOpen(cell) && cell.job ? [cell.job.id] : []));
    if (!isBusy.value) return;
    if (open.length === 0 || document.visibilityState === 'hidden') continue;
    try {
      for (const job of await newest(open, stopped)) {
        const index = made.value?.cells.findIndex((cell) => cell.job?.id === job.id) ?? -1;
        if (index >= 0) change(stopped, index, { job });
      }
    } catch {
      // The next request tells what has happened meanwhile.
    }
  }
}

/** The jobs of the list, and those singly that it no longer has. */
async function newest(ids: readonly string[], stopped: AbortSignal): Promise<Job[]> {
  const { data } = await lehrOnce.page({ limit: PAGE, signal: stopped });
  const listed = data.filter(({ id }) => ids.includes(id));
  const missing = ids.filter((id) => !listed.some((job) => job.id === id));
  return [...listed, ...(await Promise.all(missing.map((id) => one(id, stopped)))).flat()];
}

async function one(id: string, stopped: AbortSignal): Promise<Job[]> {
  try {
    return [await lehrOnce.get(id, { signal: stopped })];
  } catch (error) {
    if (!(error instanceof LehrError) || error.code !== 'not-found') throw error;
    const index = made.value?.cells.findIndex((cell) => cell.job?.id === id) ?? -1;
    change(stopped, index, { fault: faultOf(error) });
    return [];
  }
}

function change(stopped: AbortSignal, index: number, next: Partial<Cell>): void {
  if (!made.value || stopped.aborted) return;
  const { cells, ...rest } = made.value;
  made.value = { ...rest, cells: cells.map((cell, i) => (i === index ? { ...cell, ...next } : cell)) };
}

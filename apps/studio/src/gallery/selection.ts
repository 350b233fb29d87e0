/** The jobs that are selected, to be saved or deleted together. */
import type { Job } from '@lehr/client';
import { computed, signal } from '@preact/signals';
import { jobs } from './shelf.ts';

const ids = signal<ReadonlySet<string>>(new Set());
/** Where a range begins. */
let anchor: string | undefined;

/** In the order of the gallery. A job that was deleted is selected no more. */
export const selected = computed<readonly Job[]>(() =>
  ids.value.size === 0 ? [] : jobs.value.filter(({ id }) => ids.value.has(id)),
);

export const isSelected = (id: string): boolean => ids.value.has(id);

/** `range`: all jobs since the one that was changed last get the same state. */
export function toggle(id: string, range: boolean): void {
  const next = new Set(ids.value);
  const isOn = !next.has(id);
  for (const each of range ? between(anchor, id) : [id]) {
    if (isOn) next.add(each);
    else next.delete(each);
  }
  anchor = id;
  ids.value = next;
}

export function selectFound(): void {
  ids.value = new Set(jobs.value.map(({ id }) => id));
}

export function selectNone(): void {
  anchor = undefined;
  ids.value = new Set();
}

function between(from: string | undefined, to: string): readonly string[] {
  const all = jobs.value.map(({ id }) => id);
  const [a, b] = [all.indexOf(from ?? to), all.indexOf(to)];
  return a === -1 || b === -1 ? [to] : all.slice(Math.min(a, b), Math.max(a, b) + 1);
}

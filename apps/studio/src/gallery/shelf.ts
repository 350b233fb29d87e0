/**
 * Own jobs, newest first, read page by page as they are needed. The API filters by state and type; prompts are searched here, in
 * what has been read, and reading goes on until enough jobs match.
 */
import type { Job } from '@lehr/client';
import { computed, signal } from '@preact/signals';
import { type Fault, faultOf } from '../wire/fault.ts';
import { lehr } from '../wire/lehr.ts';
import { titleOfTexts } from './text-results.ts';

export interface Filter {
  readonly status: Job['status'] | '';
  readonly type: Job['type'] | '';
}

const PAGE = 40;
/** Matches to find before reading stops, and the most pages for one look. */
const ENOUGH = 24;
const MAX_PAGES = 8;

export const filter = signal<Filter>({ status: '', type: '' });
export const search = signal('');
export const jobs = signal<readonly Job[]>([]);
export const isLoading = signal(false);
export const isAtEnd = signal(false);
export const fault = signal<Fault | undefined>(undefined);
let cursor: string | undefined;
/** Counts the filters, so that the answer to an older one is not shown. */
let generation = 0;

export const found = computed(() => {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  return jobs.value.filter((job) => {
    const text = titleOf(job).toLowerCase();
    return words.every((word) => text.includes(word));
  });
});

export function choose(next: Partial<Filter>): Promise<void> {
  filter.value = { ...filter.value, ...next };
  return reload();
}

export function reload(): Promise<void> {
  generation += 1;
  cursor = undefined;
  jobs.value = [];
  isAtEnd.value = false;
  isLoading.value = false;
  return loadMore();
}

export async function loadMore(): Promise<void> {
  if (isLoading.value || isAtEnd.value) return;
  const own = generation;
  const enough = found.value.length + ENOUGH;
  isLoading.value = true;
  fault.value = undefined;
  try {
    for (let pages = 0; pages < MAX_PAGES && !isAtEnd.value && found.value.length < enough; pages += 1) {
      const { status, type } = filter.value;
      const page = await lehr.page({
        limit: PAGE,
        cursor,
        ...(status !== '' && { status }),
        ...(type !== '' && { type }),
      });
      if (own !== generation) return;
      // Nodes of a workflow are listed beside it; a job is shown once.
      const known = new Set(jobs.value.map(({ id }) => id));
      jobs.value = [...jobs.value, ...page.data.filter(({ id }) => !known.has(id))];
      cursor = page.next_cursor ?? undefined;
      isAtEnd.value = cursor === undefined;
    }
  } catch (error) {
    fault.value = faultOf(error);
    isAtEnd.value = true;
  } finally {
    if (own === generation) isLoading.value = false;
  }
}

export async function remove(id: string): Promise<void> {
  try {
    const left = await lehr.delete(id);
    // It had not ended and is being canceled: it can be deleted afterwards.
    if (left) jobs.value = jobs.value.map((job) => (job.id === id ? left : job));
    else jobs.value = jobs.value.filter((job) => job.id !== id);
  } catch (error) {
    fault.value = faultOf(error);
  }
}

/** What a job is recognised by: its prompt or its words. */
export function titleOf(job: Job): string {
  const { input, output, type, id } = job;
  if (type === 'text-to-image') return String(input.prompt ?? id);
  return output?.text?.trim() || titleOfTexts(job) || id;
}

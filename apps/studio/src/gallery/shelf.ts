/**
 * Own jobs, newest first, read page by page as they are needed. The API filters by state, type and words; reading goes on
 * until enough jobs are found.
 */
import type { Job } from '@lehr/client';
import { signal } from '@preact/signals';
import { sourceTitle } from '../jobs/source.ts';
import { texts } from '../texts/index.ts';
import { type Fault, faultOf } from '../wire/fault.ts';
import { lehr } from '../wire/lehr.ts';
import { titleOfTexts } from './text-results.ts';

export interface Filter {
  readonly status: Job['status'] | '';
  readonly type: Job['type'] | '';
}

const PAGE = 100;
/** Matches to find before reading stops, and the most pages for one look. */
const ENOUGH = 24;
const MAX_PAGES = 8;
/** Deletions under way at once. */
const DELETED_AT_ONCE = 4;
const TYPING_MS = 250;

export const filter = signal<Filter>({ status: '', type: '' });
export const search = signal('');
export const jobs = signal<readonly Job[]>([]);
export const isLoading = signal(false);
export const isAtEnd = signal(false);
/** Whether the last page could not be read. */
export const hasFailed = signal(false);
export const fault = signal<Fault | undefined>(undefined);
let cursor: string | undefined;
/** Counts the filters, so that the answer to an older one is not shown. */
let generation = 0;

let typing: ReturnType<typeof setTimeout> | undefined;

/** Looks for these words once the caller has stopped typing. */
export function lookFor(words: string): void {
  search.value = words;
  clearTimeout(typing);
  typing = setTimeout(() => void reload(), TYPING_MS);
}

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
  hasFailed.value = false;
  return loadMore();
}

/** Does nothing after a failure: `tryAgain` goes on. */
export async function loadMore(): Promise<void> {
  if (isLoading.value || isAtEnd.value || hasFailed.value) return;
  const own = generation;
  const enough = jobs.value.length + ENOUGH;
  const words = search.value.trim();
  isLoading.value = true;
  fault.value = undefined;
  try {
    for (let pages = 0; pages < MAX_PAGES && !isAtEnd.value && jobs.value.length < enough; pages += 1) {
      const { status, type } = filter.value;
      const page = await lehr.page({
        limit: PAGE,
        cursor,
        ...(status !== '' && { status }),
        ...(type !== '' && { type }),
        ...(words !== '' && { text: words }),
      });
      if (own !== generation) return;
      // Nodes of a workflow are listed beside it; a job is shown once.
      const known = new Set(jobs.value.map(({ id }) => id));
      jobs.value = [...jobs.value, ...page.data.filter(({ id }) => !known.has(id))];
      cursor = page.next_cursor ?? undefined;
      isAtEnd.value = cursor === undefined;
    }
  } catch (error) {
    if (own !== generation) return;
    fault.value = faultOf(error);
    hasFailed.value = true;
  } finally {
    if (own === generation) isLoading.value = false;
  }
}

export function tryAgain(): Promise<void> {
  hasFailed.value = false;
  return loadMore();
}

/** Deletes jobs; those that have not ended are canceled instead, and stay. Stops at the first failure. */
export async function remove(ids: readonly string[]): Promise<void> {
  const left = [...ids];
  const gone = new Set<string>();
  const kept = new Map<string, Job>();
  const removeNext = async (): Promise<void> => {
    for (let id = left.shift(); id !== undefined; id = left.shift()) {
      const job = await lehr.delete(id);
      // It had not ended and is being canceled: it can be deleted afterwards.
      if (job) kept.set(id, job);
      else gone.add(id);
    }
  };
  try {
    await Promise.all(Array.from({ length: DELETED_AT_ONCE }, removeNext));
  } catch (error) {
    left.length = 0;
    fault.value = faultOf(error);
  }
  jobs.value = jobs.value.filter(({ id }) => !gone.has(id)).map((job) => kept.get(job.id) ?? job);
}

/** Reads a job again whose links have expired. */
export async function refresh(id: string): Promise<void> {
  const now = await lehr.get(id).catch(() => undefined);
  if (now) jobs.value = jobs.value.map((job) => (job.id === id ? now : job));
}

/** What a job is recognised by: its prompt, its words, the picture that it began at, the names of its nodes, or as a recording. */
export function titleOf(job: Job): string {
  const { input, output, type, nodes = [], id } = job;
  const words = type === 'text-to-image' ? String(input.prompt ?? '') : output?.text?.trim();
  if (words) return words;
  if (type === 'picture-transform') return texts.upscale.titleOf(sourceTitle(job), job.model);
  const names = type === 'workflow' ? nodes.map((node) => node.id).join(', ') : titleOfTexts(job);
  return names || (type.startsWith('speech') ? texts.gallery.recording : id);
}

/** The batch of a comparison: a sweep over its two settings. Its limits are those of all batches; its jobs are in no gallery. */
import type { BatchEstimate } from '@lehr/client';
import { computed, signal } from '@preact/signals';
import { FollowedBatch, hasEnded } from '../jobs/follow-batch.ts';
import { rememberPrompt } from '../make/prompts.ts';
import { type Fault, faultOf } from '../wire/fault.ts';
import { lehr } from '../wire/lehr.ts';
import { pause } from '../wire/pause.ts';
import { batchOf, type Comparison, MAX_CELLS } from './comparison.ts';

export interface Made {
  readonly comparison: Comparison;
  readonly followed: FollowedBatch;
}

const TYPING_MS = 500;

export const made = signal<Made | undefined>(undefined);
/** Why the comparison cannot be made, or was not canceled. */
export const fault = signal<Fault | undefined>(undefined);
/** What it would take; undefined until that is known. */
export const estimate = signal<BatchEstimate | undefined>(undefined);
export const isSending = signal(false);

export const isBusy = computed(() => {
  if (!made.value) return false;
  const { batch, fault: gone } = made.value.followed;
  return !gone.value && !(batch.value && hasEnded(batch.value));
});

/** Shows a batch that was made of the comparison, now or before the page was loaded. */
export function show(comparison: Comparison, id: string): void {
  made.value?.followed.stop();
  made.value = { comparison, followed: new FollowedBatch(id, MAX_CELLS) };
}

/** Calls `onMade` when there is a batch: not when the session has ended, whose address must not be written any more. */
export async function makeAll(comparison: Comparison, onMade: () => void): Promise<void> {
  isSending.value = true;
  fault.value = undefined;
  try {
    const { id } = await lehr.batches.create(batchOf(comparison));
    rememberPrompt(comparison.prompt);
    show(comparison, id);
    onMade();
  } catch (error) {
    fault.value = faultOf(error);
  } finally {
    isSending.value = false;
  }
}

/** Cancels what has not ended, and makes no more. */
export async function cancelAll(): Promise<void> {
  if (!made.value) return;
  const { batch, id } = made.value.followed;
  try {
    batch.value = await lehr.batches.cancel(id);
  } catch (error) {
    fault.value = faultOf(error);
  }
}

/** Once its writer has stopped typing: what it would take, and what the API refuses of it. */
export async function askSoon(comparison: Comparison, stopped: AbortSignal): Promise<void> {
  await pause(TYPING_MS, stopped);
  if (stopped.aborted) return;
  try {
    const answer = await lehr.batches.estimate(batchOf(comparison), { signal: stopped });
    if (!stopped.aborted) estimate.value = answer;
  } catch (error) {
    if (!stopped.aborted) fault.value = faultOf(error);
  }
}

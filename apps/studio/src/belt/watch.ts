/** Reads what Lehr is doing once a second while the view is open and the page is seen. */
import { type Activity, LehrError } from '@lehr/client';
import { signal } from '@preact/signals';
import { type Fault, faultOf } from '../wire/fault.ts';
import { lehrOnce } from '../wire/lehr.ts';
import { pause } from '../wire/pause.ts';
import { whileSeen } from '../wire/while-seen.ts';
import { advance, type Belt } from './belt-state.ts';

const EVERY_MS = 1_000;
const RETRY_MS = 2_000;

export const activity = signal<Activity | undefined>(undefined);
export const belts = signal<readonly Belt[]>([]);
/** Whether the last reading failed; what is shown is older. */
export const isLost = signal(false);
/** Why the view cannot be shown at all. */
export const fault = signal<Fault | undefined>(undefined);

/** Returns the function that stops it. */
export function watch(): () => void {
  fault.value = undefined;
  isLost.value = false;
  const stop = whileSeen(readOn);
  return () => {
    stop();
    activity.value = undefined;
    belts.value = [];
  };
}

async function readOn(stopped: AbortSignal): Promise<void> {
  while (!stopped.aborted) {
    try {
      const now = await lehrOnce.activity({ signal: stopped });
      if (stopped.aborted) return;
      take(now);
    } catch (error) {
      if (stopped.aborted) return;
      if (error instanceof LehrError && (error.code === 'forbidden' || error.code === 'unauthenticated')) {
        fault.value = faultOf(error);
        return;
      }
      isLost.value = true;
    }
    await pause(isLost.value ? RETRY_MS : EVERY_MS, stopped);
  }
}

function take(now: Activity): void {
  isLost.value = false;
  fault.value = undefined;
  // The same reading again: nothing has moved.
  if (now.at === activity.value?.at) return;
  belts.value = advance(belts.value, now);
  activity.value = now;
}

/** Reads the charts every few seconds while the view is open and the page is seen. */
import { type ChartList, LehrError } from '@lehr/client';
import { signal } from '@preact/signals';
import { type Fault, faultOf } from '../wire/fault.ts';
import { lehrOnce } from '../wire/lehr.ts';
import { pause } from '../wire/pause.ts';
import { whileSeen } from '../wire/while-seen.ts';

export const RANGES = ['15m', '1h', '6h', '24h', '7d'] as const;
export type Range = (typeof RANGES)[number];

/** The API reads Prometheus no more often. */
const EVERY_MS = 10_000;
const RETRY_MS = 3_000;

export const range = signal<Range>('1h');
export const charts = signal<ChartList | undefined>(undefined);
/** The point that is pointed at, in all charts together. */
export const pointed = signal<number | undefined>(undefined);
/** Whether the last reading failed; what is shown is older. */
export const isLost = signal(false);
/** Why the view cannot be shown at all. */
export const fault = signal<Fault | undefined>(undefined);

/** Returns the function that stops it. */
export function watch(chosen: Range): () => void {
  fault.value = undefined;
  isLost.value = false;
  const stop = whileSeen((stopped) => readOn(chosen, stopped));
  return () => {
    stop();
    pointed.value = undefined;
  };
}

async function readOn(chosen: Range, stopped: AbortSignal): Promise<void> {
  while (!stopped.aborted) {
    try {
      const next = await lehrOnce.charts({ range: chosen, signal: stopped });
      if (stopped.aborted) return;
      isLost.value = false;
      charts.value = next;
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

/** Unix seconds of each point. */
export function timesOf({ from, points, step_s: stepS }: ChartList): number[] {
  const first = Date.parse(from) / 1000;
  return Array.from({ length: points }, (_, i) => first + i * stepS);
}

/** Reads something again and again while its view is open and the page is seen. */
import { LehrError } from '@lehr/client';
import { type Signal, useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { type Fault, faultOf } from './fault.ts';
import { pause } from './pause.ts';
import { whileSeen } from './while-seen.ts';

export interface Reading<Value> {
  readonly value: Signal<Value | undefined>;
  /** Why nothing can be shown. */
  readonly fault: Signal<Fault | undefined>;
  /** Whether the last reading failed; what is shown is older. */
  readonly isLost: Signal<boolean>;
}

/** `read` must always be the same function. */
export function useReading<Value>(
  read: (options: { readonly signal: AbortSignal }) => Promise<Value>,
  everyMs: number,
): Reading<Value> {
  const value = useSignal<Value | undefined>(undefined);
  const fault = useSignal<Fault | undefined>(undefined);
  const isLost = useSignal(false);
  useEffect(() => {
    const readOn = async (stopped: AbortSignal): Promise<void> => {
      while (!stopped.aborted) {
        try {
          const next = await read({ signal: stopped });
          if (stopped.aborted) return;
          value.value = next;
          isLost.value = false;
          fault.value = undefined;
        } catch (error) {
          if (stopped.aborted) return;
          if (error instanceof LehrError && error.code === 'forbidden') {
            fault.value = faultOf(error);
            return;
          }
          isLost.value = true;
        }
        await pause(everyMs, stopped);
      }
    };
    return whileSeen(readOn);
  }, []);
  return { value, fault, isLost };
}

/** Timeouts of tests on a machine that may stall for a while. */

/** For `vi.waitFor` of conditions that take some ms: a busy machine may stall for longer than its default of one second. */
export const SLOW_MACHINE = { timeout: 20_000 };

/**
 * Rejects when `settles` is not settled after `ms`. It uses a timer and not the clock: when this process stalls, the timers of the
 * awaited code are late as well, and all timers still fire in their order.
 */
export async function within<T>(ms: number, what: string, settles: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} took longer than ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([settles, late]);
  } finally {
    clearTimeout(timer);
  }
}

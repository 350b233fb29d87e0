/** How long tests wait, on a machine that may stand still for a while. */

/** For `vi.waitFor` of what takes some ms: a machine may stand still for longer than the second that it waits by itself. */
export const SOON = { timeout: 20_000 };

/**
 * Rejects when it is not settled after `ms`. A timer beside it, not a look at the clock afterwards: when this process stands still,
 * timers of what is waited for are late with it, and still come in their order.
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

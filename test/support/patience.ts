/** For `vi.waitFor` of what takes some ms: a machine may stand still for longer than the second that it waits by itself. */
export const SOON = { timeout: 20_000 };

import type { InferenceRuntime, RuntimeSession } from '../runtime/runtime.ts';

/**
 * Opens what is made of several sessions, whole or not at all: when `open` fails, the sessions it had loaded are closed.
 * `close` closes them all.
 */
export async function openWhole<Parts extends object>(
  runtime: InferenceRuntime,
  open: (runtime: InferenceRuntime) => Promise<Parts>,
): Promise<Parts & { close(): Promise<void> }> {
  const sessions: RuntimeSession[] = [];
  const close = async (): Promise<void> => {
    for (const session of sessions) await session.close();
  };
  const tracked: InferenceRuntime = {
    async load(graph, options) {
      const session = await runtime.load(graph, options);
      sessions.push(session);
      return session;
    },
  };
  try {
    return { ...(await open(tracked)), close };
  } catch (error) {
    await close();
    throw error;
  }
}

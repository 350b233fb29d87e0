import type { InferenceRuntime, RuntimeSession } from '../runtime/runtime.ts';
import { filesState, refuseChanged } from './files-state.ts';
import { preparedRuntime } from './prepared-runtime.ts';

/**
 * Opens a model of several sessions completely or not at all: when `open` fails, the sessions it has loaded are closed.
 * The returned `close` closes all of them. It also fails, with LehrError `model-unavailable`, when a file of the folder changed meanwhile:
 * the header of a rewritten graph would then be of one file, and its weights of another.
 */
export async function openWhole<Parts extends object>(
  folder: string,
  runtime: InferenceRuntime,
  open: (runtime: InferenceRuntime) => Promise<Parts>,
): Promise<Parts & { close(): Promise<void> }> {
  const sessions: RuntimeSession[] = [];
  const close = async (): Promise<void> => {
    for (const session of sessions) await session.close();
  };
  try {
    const before = await filesState(folder);
    const prepared = await preparedRuntime(folder, runtime);
    const tracked: InferenceRuntime = {
      ...prepared,
      async load(graph, options) {
        const session = await prepared.load(graph, options);
        sessions.push(session);
        return session;
      },
    };
    const parts = await open(tracked);
    await refuseChanged(folder, before);
    return { ...parts, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/**
 * Prepares an open model for its first job, such as by a warm-up. When that fails, the model is closed: it is tried again later,
 * and its sessions would hold the memory of the device until then.
 */
export async function orClose<T>(model: { close(): Promise<void> }, prepare: () => Promise<T>): Promise<T> {
  try {
    return await prepare();
  } catch (error) {
    await model.close();
    throw error;
  }
}

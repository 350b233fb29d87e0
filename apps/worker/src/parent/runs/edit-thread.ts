/** Entry of the thread that reads masks and paints pictures, so that the parent's event loop stays free: one answer to each task. */
import { parentPort } from 'node:worker_threads';
import { toPlainError } from '@lehr/shared';
import { editWork } from './edit-work.ts';
import type { EditAnswer, EditTask } from './edit-worker.ts';

type Task = (...args: readonly unknown[]) => Promise<{ readonly data: Uint8Array }>;

async function answer({ id, name, args }: EditTask): Promise<void> {
  try {
    const result = await (editWork[name] as Task)(...args);
    // sharp's own memory cannot be handed to another thread.
    const data = result.data.slice();
    parentPort?.postMessage({ id, value: { ...result, data } } satisfies EditAnswer, [data.buffer]);
  } catch (error) {
    parentPort?.postMessage({ id, failure: toPlainError(error) } satisfies EditAnswer);
  }
}

parentPort?.on('message', answer);

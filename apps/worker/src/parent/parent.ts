/** The program that started this worker, if it has a channel to it: `lehr fleet`, or the launcher of `npm start`. */
import type { WorkerId } from '@lehr/shared';

/** What a worker says to it. */
export interface WorkerMessage {
  readonly type: 'starting' | 'serving';
  readonly worker: WorkerId;
}

export function sendToParent(message: WorkerMessage): void {
  process.send?.(message);
}

/** Calls `onGone` when that program has ended: nothing would stop this worker any more. */
export function watchParent(onGone: () => void): void {
  if (!process.channel) return;
  process.once('disconnect', onGone);
  // The open channel must not keep a worker alive that has nothing left to do.
  process.channel.unref();
}

/** What Redis tells a worker unasked: a new group queue, and that a job it runs should be cancelled. */
import type { JobId, WorkerId } from '@lehr/shared';
import type { Keys, Redis } from '@lehr/shared/redis';

export interface AnnouncementsOptions {
  readonly subscriber: Redis;
  readonly keys: Keys;
  readonly worker: WorkerId;
  readonly onGroup: (queue: string) => void;
  readonly onCancel: (job: JobId) => void;
  /** The connection is back; what was announced meanwhile was missed. */
  readonly onBack: () => void;
}

/** Resolves when the worker hears them. */
export async function hearAnnouncements(options: AnnouncementsOptions): Promise<void> {
  const { subscriber, keys, worker, onGroup, onCancel, onBack } = options;
  subscriber.on('message', (channel: string, text: string) => {
    if (channel === keys.groups) onGroup(text);
    else onCancel(text as JobId);
  });
  subscriber.on('ready', onBack);
  await subscriber.subscribe(keys.groups, keys.cancel(worker));
}

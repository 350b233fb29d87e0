/** The announcements that a worker subscribes to: new and retired group queues, and cancels of jobs that it runs. */
import type { JobId, WorkerId } from '@lehr/shared';
import type { Keys, Redis } from '@lehr/shared/redis';

export interface AnnouncementsOptions {
  readonly subscriber: Redis;
  readonly keys: Keys;
  readonly worker: WorkerId;
  readonly onGroup: (queue: string) => void;
  readonly onRetired: (queue: string) => void;
  readonly onCancel: (job: JobId) => void;
  /** The subscription is active again after the connection was lost; announcements in between were missed. */
  readonly onReconnect: () => void;
}

/** Resolves when the subscription is active. */
export async function subscribeToAnnouncements(options: AnnouncementsOptions): Promise<void> {
  const { subscriber, keys, worker, onGroup, onRetired, onCancel, onReconnect } = options;
  subscriber.on('message', (channel: string, text: string) => {
    if (channel === keys.groups) onGroup(text);
    else if (channel === keys.retiredGroups) onRetired(text);
    else if (channel === keys.cancel(worker)) onCancel(text as JobId);
  });
  const subscribe = () => subscriber.subscribe(keys.groups, keys.retiredGroups, keys.cancel(worker));
  // ioredis subscribes again by itself, but does not tell when Redis has answered. A failure means another reconnect.
  subscriber.on('ready', () => void subscribe().then(onReconnect, () => {}));
  await subscribe();
}

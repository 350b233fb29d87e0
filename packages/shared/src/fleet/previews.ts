/**
 * Progress and previews of running jobs. Progress is written often, and previews are made, only while a caller follows the job:
 *
 *   API      `followJob`    sets keys that expire, as long as a caller follows
 *   worker   `Outcome.followed` and `Outcome.watched` report these keys with the job's start and with every progress it writes
 *   worker   `wantProgress` reads them in between
 *   worker   `showPreview`  writes the newest preview to one key, and publishes a message on the channel of the same name
 *   API      `readPreview`  reads it at that message, and once when a caller begins to follow
 */

import type { JobId } from '../base/ids.ts';
import { type Preview, PreviewSchema } from '../contracts/job-event.ts';
import type { Keys, Redis } from '../redis/index.ts';

/** Frequent progress and previews continue for this long after the last follower has left. */
const FOLLOWED_MS = 10_000;
/** How often the API refreshes the key while a caller follows. */
export const FOLLOW_EVERY_MS = 4_000;
/** After this the preview of a worker that died is gone. */
const SHOWN_MS = 10_000;

export async function followJob(redis: Redis, keys: Keys, id: JobId, previews = true): Promise<void> {
  const followed = redis.set(keys.followed(id), '1', 'PX', FOLLOWED_MS);
  const watched = previews && redis.set(keys.watched(id), '1', 'PX', FOLLOWED_MS);
  await Promise.all([followed, watched]);
}

/** Per running job, whether its progress is wanted now: a caller follows it or its workflow, or has asked to cancel it. */
export async function wantProgress(
  redis: Redis,
  keys: Keys,
  jobs: readonly { readonly id: JobId; readonly parent?: JobId | undefined }[],
): Promise<boolean[]> {
  const replies = await Promise.all(
    jobs.flatMap(({ id, parent = id }) => [
      redis.exists(keys.followed(id), keys.followed(parent)),
      redis.hexists(keys.record(id), 'cancel_requested'),
    ]),
  );
  return jobs.map((_, i) => replies[2 * i] + replies[2 * i + 1] > 0);
}

/** Shows the preview to the followers of all these jobs, in one round trip. */
export async function showPreview(
  redis: Redis,
  keys: Keys,
  jobs: readonly JobId[],
  preview: Preview,
): Promise<void> {
  const text = JSON.stringify(preview);
  await Promise.all(
    jobs.flatMap((id) => [
      redis.set(keys.preview(id), text, 'PX', SHOWN_MS),
      redis.publish(keys.preview(id), `${preview.step}`),
    ]),
  );
}

/** The newest preview; undefined when there is none or it has expired. */
export async function readPreview(redis: Redis, keys: Keys, id: JobId): Promise<Preview | undefined> {
  const text = await redis.get(keys.preview(id));
  return text === null ? undefined : PreviewSchema.safeParse(JSON.parse(text)).data;
}

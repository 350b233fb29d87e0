/**
 * Live previews of unfinished pictures. They are made only while a caller follows the job, and expire after seconds:
 *
 *   API      `followJob`    sets a key that expires, as long as a caller follows
 *   worker   `Outcome.watched` reports that key with the job's start and with every progress it writes
 *   worker   `showPreview`  writes the newest preview to one key, and publishes a message on the channel of the same name
 *   API      `readPreview`  reads it at that message, and once when a caller begins to follow
 */
import { type Preview, PreviewSchema } from './contracts/job-event.ts';
import type { JobId } from './ids.ts';
import type { Keys, Redis } from './redis/index.ts';

/** Previews continue for this long after the last follower has left. */
const FOLLOWED_MS = 10_000;
/** How often the API refreshes the key while a caller follows. */
export const FOLLOW_EVERY_MS = 4_000;
/** After this the preview of a worker that died is gone. */
const SHOWN_MS = 10_000;

export async function followJob(redis: Redis, keys: Keys, id: JobId): Promise<void> {
  await redis.set(keys.watched(id), '1', 'PX', FOLLOWED_MS);
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

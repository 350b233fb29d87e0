/**
 * Live previews of pictures in the making. None is made unless somebody follows the job, and none is kept:
 *
 *   API      `followJob`    a key that goes out by itself says that somebody follows
 *   worker   `Outcome.watched` tells it so with the job's start and with every progress it writes
 *   worker   `showPreview`  the newest preview in one key, and a message on the channel of the same name
 *   API      `readPreview`  at that message, and once for whoever comes in between
 */
import { type Preview, PreviewSchema } from './contracts/job-event.ts';
import type { JobId } from './ids.ts';
import type { Keys, Redis } from './redis/index.ts';

/** Previews go on for so long after the last one who followed has left. */
const FOLLOWED_MS = 10_000;
/** How often whoever follows says so. */
export const FOLLOW_EVERY_MS = 4_000;
/** A preview of a worker that died is not shown for long. */
const SHOWN_MS = 10_000;

export async function followJob(redis: Redis, keys: Keys, id: JobId): Promise<void> {
  await redis.set(keys.watched(id), '1', 'PX', FOLLOWED_MS);
}

/** Shows it to those who follow any of these jobs, in one round trip. */
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

/** The newest one; undefined when there is none, or it is old. */
export async function readPreview(redis: Redis, keys: Keys, id: JobId): Promise<Preview | undefined> {
  const text = await redis.get(keys.preview(id));
  return text === null ? undefined : PreviewSchema.safeParse(JSON.parse(text)).data;
}

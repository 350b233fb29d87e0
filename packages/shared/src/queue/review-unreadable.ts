/** Removes from the list of unreadable records and reports what is gone, and what this process can read. */

import { isJobId } from '../base/ids.ts';
import { readFleet } from '../fleet/fleet.ts';
import { type RecordStore, UnreadableList } from '../records/index.ts';
import type { Keys, Redis } from '../redis/index.ts';

/** Of a log line. */
const SHOWN = 20;

/** Returns the first of the ids that stay in the list. */
export async function reviewUnreadable(redis: Redis, keys: Keys, records: RecordStore): Promise<string[]> {
  const list = new UnreadableList(redis, keys);
  const ids = await list.ids();
  if (ids.length === 0) return [];
  const { unreadable } = await records.find(ids.filter(isJobId));
  const readable = (await readFleet(redis, keys)).map(({ id }): string => id);
  const reporting = await redis.smembers(keys.workers);
  const staying = new Set([
    ...unreadable.map(({ id }) => id),
    ...reporting.filter((id) => !readable.includes(id)),
  ]);
  await list.remove(ids.filter((id) => !staying.has(id)));
  return ids.filter((id) => staying.has(id)).slice(0, SHOWN);
}

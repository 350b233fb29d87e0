/**
 * The index in which workers look for work: for each model, the group queues that may have waiting jobs. A group is added by the
 * command that follows its job into the queue, and removed by a look that finds it empty (heads.lua). What a crash between the two
 * leaves out is added by the next round of the janitor.
 */
import { readFileSync } from 'node:fs';
import { formatModelRef, parseGroupQueueName } from '../contracts/group.ts';
import { defineScript, type Keys, type Redis } from '../redis/index.ts';
import type { GroupQueue } from './group-queue.ts';

const INDEX_LUA = readFileSync(new URL('./index-waiting.lua', import.meta.url), 'utf8');
/** Queues per call, so that Redis serves other commands in between. */
const CHUNK = 200;

/** The key of the index that has the queue; undefined for a queue that is no group queue. */
export function waitingKey(keys: Keys, queue: string): string | undefined {
  const group = parseGroupQueueName(queue);
  return group && keys.waiting(formatModelRef(group.model));
}

/** Adds the groups with waiting jobs that the index lacks. */
export async function indexWaiting(redis: Redis, queues: readonly GroupQueue[]): Promise<void> {
  const script = defineScript(redis, 'lehrIndexWaiting', INDEX_LUA);
  for (let i = 0; i < queues.length; i += CHUNK) {
    const indexed = queues.slice(i, i + CHUNK).flatMap((queue) => (queue.waitingKey ? [queue] : []));
    await script.run(
      indexed.flatMap(({ waitKey, prioritizedKey, waitingKey: index = '' }) => [
        waitKey,
        prioritizedKey,
        index,
      ]),
      indexed.map(({ name }) => name),
    );
  }
}

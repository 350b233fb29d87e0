/**
 * Retires group queues that are idle (retire.lua). Callers choose the groups, any size of picture makes a new one, so their keys
 * must go again. Every group has a time at which it is looked at next, so a round costs nothing for groups that are in use.
 */
import { readFileSync } from 'node:fs';
import { defineScript, type Keys, type Redis, type Script } from '../redis/index.ts';
import { Failures } from './failures.ts';
import { waitingKey } from './group-queues.ts';

const RETIRE_LUA = readFileSync(new URL('./retire.lua', import.meta.url), 'utf8');
/** Without a waiting, running or delayed job for this long, a group is retired. */
export const GROUP_IDLE_MS = 3_600_000;
/** Groups per look; finished jobs of a group per call of the script, which takes less than a millisecond. */
const CHUNK = 100;
const FINISHED_AT_ONCE = 200;

/**
 * Lists the groups of jobs that were found lost; those that are listed already stay as they are. All are announced
 * to the workers, since an earlier call may have been cut off before it announced what it had listed.
 */
export async function listGroups(redis: Redis, keys: Keys, queues: readonly string[]): Promise<void> {
  const names = [...new Set(queues)];
  if (names.length === 0) return;
  const pipeline = redis.pipeline();
  for (const name of names) {
    pipeline.sadd(keys.groups, name).zadd(keys.groupLooks, 'NX', 0, name).publish(keys.groups, name);
  }
  for (const [error] of (await pipeline.exec()) ?? []) {
    if (error) throw error;
  }
}

/**
 * Retires the groups that are due to be looked at and idle; returns their names. Ends early when the signal is aborted. A group
 * that fails does not keep the others from being retired; its error is thrown after them.
 */
export async function retireIdleGroups(
  redis: Redis,
  keys: Keys,
  now: number,
  idleMs: number = GROUP_IDLE_MS,
  signal?: AbortSignal,
): Promise<string[]> {
  const script = defineScript(redis, 'lehrRetire', RETIRE_LUA);
  const retired: string[] = [];
  const failures = new Failures();
  let failed = 0;
  while (!signal?.aborted) {
    const due = await redis.zrangebyscore(keys.groupLooks, '-inf', now, 'LIMIT', failed, CHUNK);
    for (const queue of due) {
      const outcome = await failures.try(() => retire(script, keys, queue, idleMs));
      if (outcome === undefined) failed++;
      if (outcome === 'retired') retired.push(queue);
    }
    if (due.length < CHUNK) break;
  }
  failures.throwAny('groups to retire');
  return retired;
}

async function retire(script: Script, keys: Keys, queue: string, idleMs: number): Promise<unknown> {
  for (;;) {
    const outcome = await script.run(
      [keys.groups, keys.groupLooks, waitingKey(keys, queue) ?? keys.waiting('none')],
      [keys.prefix, queue, idleMs, FINISHED_AT_ONCE, keys.retiredGroups],
    );
    if (outcome !== 'more') return outcome;
  }
}

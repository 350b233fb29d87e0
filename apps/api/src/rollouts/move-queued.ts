/**
 * Moves the jobs of a rollout that still wait for the version that lost to the one that all callers get now. Each job is moved whole
 * (`reassign` in transition.lua) and then added to its new queue. If this process dies in between, the reconciler adds it. The request may
 * be sent again, and two of them at once move each job once.
 */
import { type Clock, formatModelRef, groupQueueName, type JobId, parseGroupQueueName } from '@lehr/shared';
import type { GroupQueues } from '@lehr/shared/queue';
import {
  formatShare,
  type JobOutline,
  parseShare,
  type Reassignment,
  type RecordStore,
} from '@lehr/shared/records';
import type { Keys, Redis } from '@lehr/shared/redis';
import type { Actor, AuditLog } from '../audit/audit-log.ts';
import { movedBetween } from './change.ts';
import type { StoredRollout } from './rollout.ts';

export interface MoveParts {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly queues: GroupQueues;
  readonly records: Pick<RecordStore, 'outlines' | 'reassign'>;
  readonly audit: Pick<AuditLog, 'append'>;
  readonly clock: Clock;
}

export interface Moved {
  readonly jobs: number;
  /** Others may be left: the limit of jobs or of time was reached. */
  readonly more: boolean;
}

/** Per command: few enough that Redis serves other commands in between. */
const CHUNK = 100;
/** Of one request. */
const MAX_JOBS = 10_000;
const MAX_MS = 15_000;

export async function moveQueued(parts: MoveParts, rollout: StoredRollout, actor: Actor): Promise<Moved> {
  const { redis, keys, audit, clock } = parts;
  const { model: name } = rollout;
  const { from, to } = movedBetween(rollout);
  // Before the first job is moved, so that the log has no gap when this process dies.
  await audit.append({
    action: 'rollout.moved-jobs',
    actor: actor.keyId,
    tenant: null,
    target: name,
    address: actor.address,
    changes: { from, to },
  });
  const until = clock.monotonic() + MAX_MS;
  const source = formatModelRef({ name, version: from });
  const target = { name, version: to };
  let jobs = 0;
  for (const queue of await redis.smembers(keys.groups)) {
    const group = parseGroupQueueName(queue);
    if (!group || formatModelRef(group.model) !== source) continue;
    const route = {
      rollout: rollout.id,
      from: queue,
      to: groupQueueName({ ...group, model: target }),
      model: formatModelRef(target),
    };
    for await (const ids of waitingIn(parts, queue)) {
      if (jobs >= MAX_JOBS || clock.monotonic() > until) return { jobs, more: true };
      jobs += await moveSome(parts, route, ids);
    }
  }
  return { jobs, more: false };
}

/** Slices of the waiting jobs; every job that waits from the start to the end is in one. */
async function* waitingIn(
  { redis, queues }: Pick<MoveParts, 'redis' | 'queues'>,
  queue: string,
): AsyncGenerator<readonly JobId[], undefined> {
  const { prioritizedKey } = queues.of(queue);
  let cursor = '0';
  do {
    const [next, flat] = await redis.zscan(prioritizedKey, cursor, 'COUNT', CHUNK);
    cursor = next;
    yield flat.filter((_, i) => i % 2 === 0) as JobId[];
  } while (cursor !== '0');
}

/** Where the waiting jobs of one group go. */
interface Route {
  readonly rollout: string;
  /** The queue of the group. */
  readonly from: string;
  /** The queue of the same group of the other version. */
  readonly to: string;
  /** The other version. */
  readonly model: string;
}

/** Returns how many were moved. */
async function moveSome(
  { records, queues }: MoveParts,
  route: Route,
  ids: readonly JobId[],
): Promise<number> {
  const { records: found } = await records.outlines(ids);
  const moves = found.flatMap((record) => (record ? reassignment(route, record) : []));
  const outcomes = await records.reassign(moves);
  const moved = outcomes.flatMap(({ code, record }) => (code === 'ok' && record ? [record] : []));
  const queue = queues.of(route.to);
  await Promise.all(moved.map((record) => queue.add(record, record.score ?? 0)));
  return moved.length;
}

/** Empty unless the rollout chose the version of the job. A node keeps its version: its workflow names it. */
function reassignment({ rollout, from, to, model }: Route, record: JobOutline): Reassignment[] {
  const share = parseShare(record.rollout);
  if (record.state !== 'queued' || record.parent || share?.rollout !== rollout || share.side === 'shadow') {
    return [];
  }
  // Without a stage: its end is shown with those of its new version, and is in no comparison.
  const side = share.side === 'stable' ? 'canary' : 'stable';
  const counted = formatShare({ rollout, side, expectedMs: share.expectedMs });
  const weight = record.payer?.weight ?? 1;
  const fields = { queue: to, model, rollout: counted };
  return [{ id: record.id, from, rollout, weight, fields }];
}

/**
 * Posts the shadow of a new job: a copy that the version on trial runs for comparison (compare-shadows.ts). It belongs to a tenant that no key
 * can have, so no caller sees it; it is charged to no key, has no webhook, and it comes after the jobs of all callers. It is posted only
 * when it can run soon, and expires within a minute.
 */
import {
  formatModelRef,
  groupQueueName,
  isTextJobType,
  type Log,
  MediaSourceSchema,
  newJobId,
  parseGroupQueueName,
  type TenantId,
  toLehrError,
} from '@lehr/shared';
import type { Admitter } from '@lehr/shared/queue';
import { formatShare, type JobRecord, type NewJob, parseShare, type RecordStore } from '@lehr/shared/records';
import type { Keys, Redis } from '@lehr/shared/redis';
import type { Backlog } from '../fleet/backlog.ts';
import type { RecordRoom } from '../limits/record-room.ts';
import type { RolloutStore } from '../rollouts/rollout-store.ts';
import { hasShadow, SHADOW_FIELDS } from '../rollouts/shadow.ts';
import type { SubmitParts } from './submit.ts';

/** Names of tenants have no underscore. */
export const SHADOW_TENANT = '_shadow' as TenantId;
/** Unfinished ones of all rollouts together. */
const MAX_SHADOWS = 16;
/** A shadow that would wait longer is dropped. */
const MAX_WAIT_MS = 2_000;
/** Shadows that have ended and wait for the end of their job count, too: the comparison looks at so many (compare-shadows.ts). */
export const MAX_PAIRS = 64;
const DEADLINE_MS = 60_000;
/** Against the bulk jobs of callers. */
const WEIGHT = 0.1;

export interface ShadowParts extends Pick<SubmitParts, 'queues'> {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly records: Pick<RecordStore, 'create'>;
  readonly admitter: Pick<Admitter, 'admit'>;
  readonly backlog: Pick<Backlog, 'ahead'>;
  readonly recordRoom: Pick<RecordRoom, 'check'>;
  readonly rollouts: Pick<RolloutStore, 'recent'>;
  readonly log: Log;
}

/** Never rejects: a job must not fail because of its shadow. */
export async function postShadow(parts: ShadowParts, record: JobRecord): Promise<void> {
  const share = parseShare(record.rollout);
  const group = parseGroupQueueName(record.queue);
  if (!share || !group || record.parent || !isRepeatable(record)) return;
  try {
    const rollout = (await parts.rollouts.recent()).get(group.model.name);
    if (!hasShadow(rollout, share, record.id)) return;
    const model = { name: group.model.name, version: rollout.canary };
    const work = { ref: formatModelRef(model), queue: groupQueueName({ ...group, model }) };
    const rolloutShare = formatShare({ rollout: rollout.id, side: 'shadow', expectedMs: share.expectedMs });
    if (await post(parts, record, work, rolloutShare)) return;
    await parts.redis.hincrby(parts.keys.rolloutOutcomes(rollout.id), SHADOW_FIELDS.dropped, 1);
  } catch (error) {
    parts.log.debug({ error: toLehrError(error), job: record.id }, 'shadow was not posted');
  }
}

/** Returns false when there is no room for it. */
async function post(
  { redis, keys, records, queues, admitter, backlog, recordRoom }: ShadowParts,
  { id: original, type, cost, input }: JobRecord,
  { ref, queue }: { readonly ref: string; readonly queue: string },
  rollout: string,
): Promise<boolean> {
  const ahead = await backlog.ahead(queue, ref, 'bulk');
  if (ahead.workers === 0 || (await redis.zcard(keys.shadows)) >= MAX_PAIRS) return false;
  if (!(await hasRoom(recordRoom))) return false;
  const base = { id: newJobId(), tenant: SHADOW_TENANT, queue, priority: 'bulk' as const, cost };
  const limits = { maxJobs: MAX_SHADOWS, weight: WEIGHT, maxWaitMs: MAX_WAIT_MS };
  const admission = await admitter.admit({ ...base, ...limits, ...ahead });
  if (admission.code !== 'admitted') return false;
  const { score, startTag, now } = admission;
  const job: NewJob = {
    ...base,
    id: admission.id,
    type,
    model: ref,
    input,
    metadata: {},
    deadline_at: Math.round(now + DEADLINE_MS),
    score,
    fair_tag: startTag,
    admitted_at: now,
    rollout,
  };
  // Noted first: a shadow without a note would be kept as long as the job of a caller.
  await redis.zadd(keys.shadows, now, `${original} ${job.id}`);
  await records.create(job, () => queues.of(queue).add(job, score));
  return true;
}

/** False when Redis is full, for all or for shadows. */
async function hasRoom(recordRoom: ShadowParts['recordRoom']): Promise<boolean> {
  try {
    await recordRoom.check(SHADOW_TENANT);
    return true;
  } catch (error) {
    if (['overloaded', 'rate-limited'].includes(toLehrError(error).code)) return false;
    throw error;
  }
}

/** A file at a URL of a caller is not fetched a second time. */
function isRepeatable({ type, input }: JobRecord): boolean {
  if (isTextJobType(type)) return true;
  return [input.audio, input.image].every(
    (media) => media === undefined || MediaSourceSchema.safeParse(media).data?.kind === 'object',
  );
}

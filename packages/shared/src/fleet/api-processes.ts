/** The API processes that run, with their versions, so that an upgrade can be planned. Workers say theirs in their reports (fleet.ts). */

import { parsedStored } from '../base/other-versions.ts';
import { OWN_VERSION } from '../base/version.ts';
import { SCHEMA_VERSION } from '../records/unreadable.ts';
import type { Keys, Redis } from '../redis/index.ts';
import { type WorkerVersion, WorkerVersionSchema } from './fleet.ts';

/** An API process that has not reported for this long counts as gone. */
const API_PROCESS_TTL_MS = 15_000;

interface ApiProcess {
  readonly id: string;
  readonly lehr: string;
  /** SCHEMA_VERSION of the process. */
  readonly v: number;
  /** As in LEHR_ROLES. */
  readonly roles: string;
}

export async function reportApiProcess(
  redis: Redis,
  keys: Keys,
  { id, roles }: Pick<ApiProcess, 'id' | 'roles'>,
): Promise<void> {
  const text = JSON.stringify({ id, roles, lehr: OWN_VERSION, v: SCHEMA_VERSION } satisfies ApiProcess);
  await redis
    .pipeline()
    .set(keys.apiProcess(id), text, 'PX', API_PROCESS_TTL_MS)
    .sadd(keys.apiProcesses, id)
    .exec();
}

export async function forgetApiProcess(redis: Redis, keys: Keys, id: string): Promise<void> {
  await redis.pipeline().del(keys.apiProcess(id)).srem(keys.apiProcesses, id).exec();
}

/** The versions of those that reported within API_PROCESS_TTL_MS; empty where a report has a form that is unknown here. */
export async function readApiProcesses(redis: Redis, keys: Keys): Promise<WorkerVersion[]> {
  const ids = await redis.smembers(keys.apiProcesses);
  if (ids.length === 0) return [];
  const texts = await redis.mget(ids.map((id) => keys.apiProcess(id)));
  const silent = ids.filter((_, i) => texts[i] === null);
  if (silent.length > 0) await redis.srem(keys.apiProcesses, ...silent);
  return texts.flatMap((text) => (text === null ? [] : [parsedStored(WorkerVersionSchema, text) ?? {}]));
}

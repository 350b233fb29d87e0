/** The checks of `lehr doctor --upgrade`: what runs over this Redis, compared with this version. */
import { OWN_VERSION, readApiProcesses, WorkerVersionSchema } from '@lehr/shared';
import { SCHEMA_VERSION, UnreadableList } from '@lehr/shared/records';
import { keysOf, type Redis, redisReady } from '@lehr/shared/redis';
import type { Check } from './check.ts';
import { planUpgrade, type RunningProcess } from './plan-upgrade.ts';

/** `where` is the server's address without its password. */
export async function checkUpgrade(redis: Redis, where: string, namespace: string): Promise<Check[]> {
  const keys = keysOf(namespace);
  try {
    await redisReady(redis);
    const [apis, ids, unreadable] = await Promise.all([
      readApiProcesses(redis, keys),
      redis.smembers(keys.workers),
      new UnreadableList(redis, keys).count(),
    ]);
    const reports = ids.length > 0 ? await redis.mget(ids.map((id) => keys.worker(id as never))) : [];
    const workers = reports.flatMap((text) => (text === null ? [] : [workerOf(text)]));
    const processes = [
      ...apis.map(({ lehr, v }): RunningProcess => ({ kind: 'API', lehr, schema: v })),
      ...workers,
    ];
    return planUpgrade({ lehr: OWN_VERSION, schema: SCHEMA_VERSION }, processes, unreadable);
  } catch (error) {
    const advice = 'Start Redis, or set LEHR_REDIS_URL to its address.';
    return [{ name: 'Redis', state: 'fail', detail: `${where}: ${(error as Error).message}`, advice }];
  }
}

/** Reads the versions only: the rest of the report may have a form that is unknown here. */
function workerOf(text: string): RunningProcess {
  try {
    const { lehr, v } = WorkerVersionSchema.parse(JSON.parse(text));
    return { kind: 'worker', lehr, schema: v };
  } catch {
    return { kind: 'worker', lehr: undefined, schema: undefined };
  }
}

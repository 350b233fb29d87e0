/** The checks of `lehr doctor --upgrade`: what runs over this Redis, compared with this version. */
import { OWN_VERSION, readApiProcesses, readWorkerVersions, type WorkerVersion } from '@lehr/shared';
import { SCHEMA_VERSION, UnreadableList } from '@lehr/shared/records';
import { keysOf, type Redis, redisReady } from '@lehr/shared/redis';
import type { Check } from './check.ts';
import { planUpgrade, type RunningProcess } from './plan-upgrade.ts';

/** `where` is the server's address without its password. */
export async function checkUpgrade(redis: Redis, where: string, namespace: string): Promise<Check[]> {
  const keys = keysOf(namespace);
  try {
    await redisReady(redis);
    const [apis, workers, unreadable] = await Promise.all([
      readApiProcesses(redis, keys),
      readWorkerVersions(redis, keys),
      new UnreadableList(redis, keys).count(),
    ]);
    const processes = [
      ...apis.map((each) => processOf('API', each)),
      ...workers.map((each) => processOf('worker', each)),
    ];
    return planUpgrade({ lehr: OWN_VERSION, schema: SCHEMA_VERSION }, processes, unreadable);
  } catch (error) {
    const advice = 'Start Redis, or set LEHR_REDIS_URL to its address.';
    return [{ name: 'Redis', state: 'fail', detail: `${where}: ${(error as Error).message}`, advice }];
  }
}

const processOf = (kind: RunningProcess['kind'], { lehr, v }: WorkerVersion): RunningProcess => ({
  kind,
  lehr,
  schema: v,
});

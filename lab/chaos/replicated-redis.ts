/** A Redis master with a replica, and Sentinels that promote the replica when the master is gone. */
import { onTestFinished, vi } from 'vitest';
import { operatorUrl, replicaOf, startRedis, type TestRedis } from '../../test/support/redis-server.ts';
import { MASTER_NAME, startSentinel } from '../../test/support/sentinel.ts';
import { type Redis, testConnection } from './redis-admin.ts';

export interface ReplicatedRedis {
  readonly master: TestRedis;
  readonly replica: TestRedis;
  /** With the name of the master as its host, and the Sentinels. */
  readonly url: string;
  /** A connection to the replica. */
  readonly replicaAdmin: Redis;
  /** Resolves when the replica has become the master. */
  promoted(): Promise<void>;
}

const PATIENCE = { timeout: 120_000, interval: 50 };

export async function replicatedRedis(sentinelCount = 3): Promise<ReplicatedRedis> {
  const master = await startRedis();
  const replica = await startRedis(replicaOf(master.port));
  onTestFinished(async () => {
    await Promise.all([master.stop(), replica.stop()]);
  });
  const replicaAdmin = await testConnection(replica.url);
  await vi.waitFor(async () => {
    if (!(await replicaAdmin.info('replication')).includes('master_link_status:up'))
      throw new Error('the replica is not connected yet');
  }, PATIENCE);
  const ports = await Promise.all(
    Array.from({ length: sentinelCount }, () => startSentinel(master.port, sentinelCount)),
  );
  for (const port of ports) {
    const sentinel = await testConnection(`redis://127.0.0.1:${port}`);
    await vi.waitFor(async () => {
      const [replicas, others] = (await Promise.all([
        sentinel.call('SENTINEL', 'REPLICAS', MASTER_NAME),
        sentinel.call('SENTINEL', 'SENTINELS', MASTER_NAME),
      ])) as [unknown[], unknown[]];
      if (replicas.length !== 1 || others.length !== sentinelCount - 1)
        throw new Error('a Sentinel does not know all others yet');
    }, PATIENCE);
  }
  return {
    master,
    replica,
    url: `${operatorUrl(MASTER_NAME)}?sentinels=${ports.map((port) => `127.0.0.1:${port}`).join()}`,
    replicaAdmin,
    promoted: () =>
      vi.waitFor(async () => {
        if (!(await replicaAdmin.info('replication')).includes('role:master'))
          throw new Error('the replica is not the master yet');
      }, PATIENCE),
  };
}

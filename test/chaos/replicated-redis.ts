/** A Redis master with a replica, and Sentinels that promote the replica when the master is gone. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished, vi } from 'vitest';
import { freePort } from '../support/ports.ts';
import {
  operatorUrl,
  replicaOf,
  sentinelSignIn,
  startRedis,
  type TestRedis,
} from '../support/redis-server.ts';
import { type Redis, testConnection } from './redis-admin.ts';

export interface ReplicatedRedis {
  readonly master: TestRedis;
  readonly replica: TestRedis;
  /** `host:port` of each Sentinel. */
  readonly sentinels: readonly string[];
  /** The URL whose host is the name of the master. */
  readonly url: string;
  /** A connection to the replica. */
  readonly replicaAdmin: Redis;
  /** Resolves when the replica has become the master. */
  promoted(): Promise<void>;
}

const NAME = 'primary';
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
        sentinel.call('SENTINEL', 'REPLICAS', NAME),
        sentinel.call('SENTINEL', 'SENTINELS', NAME),
      ])) as [unknown[], unknown[]];
      if (replicas.length !== 1 || others.length !== sentinelCount - 1)
        throw new Error('a Sentinel does not know all others yet');
    }, PATIENCE);
  }
  return {
    master,
    replica,
    sentinels: ports.map((port) => `127.0.0.1:${port}`),
    url: operatorUrl(NAME),
    replicaAdmin,
    promoted: () =>
      vi.waitFor(async () => {
        if (!(await replicaAdmin.info('replication')).includes('role:master'))
          throw new Error('the replica is not the master yet');
      }, PATIENCE),
  };
}

/** It keeps its state in its configuration file. Returns its port. */
async function startSentinel(masterPort: number, count: number): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'lehr-sentinel-'));
  const file = join(folder, 'sentinel.conf');
  const port = await freePort();
  const lines = [
    `port ${port}`,
    'bind 127.0.0.1',
    `sentinel monitor ${NAME} 127.0.0.1 ${masterPort} ${Math.floor(count / 2) + 1}`,
    `sentinel down-after-milliseconds ${NAME} 1000`,
    `sentinel failover-timeout ${NAME} 10000`,
    ...sentinelSignIn(NAME),
  ];
  await writeFile(file, `${lines.join('\n')}\n`);
  const child: ChildProcess = spawn('redis-server', [file, '--sentinel'], { stdio: 'ignore' });
  onTestFinished(async () => {
    if (child.exitCode === null) {
      const exit = once(child, 'exit');
      child.kill();
      await exit;
    }
    await rm(folder, { recursive: true, force: true });
  });
  // On a busy machine a Sentinel suspects its own clock again and again, and each time does nothing for 30 s (TILT mode).
  const sentinel = await testConnection(`redis://127.0.0.1:${port}`);
  await sentinel.call('SENTINEL', 'DEBUG', 'tilt-trigger', '60000', 'tilt-period', '1000');
  return port;
}

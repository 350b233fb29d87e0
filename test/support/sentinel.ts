/** A Sentinel: it watches a Redis master, and promotes a replica when the master is gone. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { redisReady } from '../../packages/shared/src/redis/index.ts';
import { freePort } from './ports.ts';
import { testRedis } from './redis.ts';
import { sentinelSignIn } from './redis-server.ts';
import { tempFolder } from './tiny-models.ts';

/** By which Sentinels know the master. */
export const MASTER_NAME = 'primary';

/** One of `count` Sentinels, most of which must agree. Returns its port. */
export async function startSentinel(masterPort: number, count = 1): Promise<number> {
  // It keeps its state in its configuration file.
  const file = join(await tempFolder('sentinel'), 'sentinel.conf');
  const port = await freePort();
  const lines = [
    `port ${port}`,
    'bind 127.0.0.1',
    `sentinel monitor ${MASTER_NAME} 127.0.0.1 ${masterPort} ${Math.floor(count / 2) + 1}`,
    `sentinel down-after-milliseconds ${MASTER_NAME} 1000`,
    `sentinel failover-timeout ${MASTER_NAME} 10000`,
    ...sentinelSignIn(MASTER_NAME),
  ];
  await writeFile(file, `${lines.join('\n')}\n`);
  const child = spawn('redis-server', [file, '--sentinel'], { stdio: 'ignore' });
  const exit = once(child, 'exit');
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await exit;
  });
  // On a busy machine a Sentinel suspects its own clock again and again, and each time does nothing for 30 s (TILT mode).
  const sentinel = testRedis(`redis://127.0.0.1:${port}`);
  await redisReady(sentinel, 30_000);
  await sentinel.call('SENTINEL', 'DEBUG', 'tilt-trigger', '60000', 'tilt-period', '1000');
  return port;
}

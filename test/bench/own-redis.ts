/** A Redis for one bench: its own port and folder, gone when the bench is. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openRedis, redisReady } from '../../packages/shared/src/redis/index.ts';

export interface OwnRedis {
  readonly url: string;
  stop(): Promise<void>;
}

export async function ownRedis(): Promise<OwnRedis> {
  const folder = await mkdtemp(join(tmpdir(), 'lehr-bench-redis-'));
  const port = await freePort();
  const args = [
    '--port',
    `${port}`,
    '--bind',
    '127.0.0.1',
    '--dir',
    folder,
    '--save',
    '',
    '--appendonly',
    'yes',
  ];
  const child = spawn('redis-server', args, { stdio: 'ignore' });
  const url = `redis://127.0.0.1:${port}`;
  const probe = openRedis(url, 'worker', 'probe');
  await redisReady(probe, 10_000).finally(() => probe.disconnect());
  return {
    url,
    stop: async () => {
      const exit = once(child, 'exit');
      child.kill('SIGTERM');
      await exit;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

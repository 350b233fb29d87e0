/** A real Redis of one's own: its own port and folder, stopped by its own pid. For tests and benches. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openRedis, redisReady } from '../../packages/shared/src/redis/index.ts';
import { freePort } from './ports.ts';

export interface TestRedis {
  readonly url: string;
  readonly port: number;
  /** `kill -9`, as a crash would. */
  kill(): Promise<void>;
  /** Freezes the process (SIGSTOP) or lets it go on. */
  freeze(): void;
  thaw(): void;
  /** Starts again on the same port and folder, reading its log back. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/** How Lehr's own Redis has its log on the disk; benches have it so, too. */
export const EVERYSEC = ['--appendfsync', 'everysec'];

export async function startRedis(extra: readonly string[] = []): Promise<TestRedis> {
  const folder = await mkdtemp(join(tmpdir(), 'lehr-redis-'));
  const port = await freePort();
  const launch = async (): Promise<ChildProcess> => {
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
      // Written before it answers, so a kill loses nothing, and never waiting for a disk that others keep busy.
      '--appendfsync',
      'no',
    ];
    const child = spawn('redis-server', [...args, '--maxmemory-policy', 'noeviction', ...extra], {
      stdio: 'ignore',
    });
    child.on('error', () => {});
    const probe = openRedis(`redis://127.0.0.1:${port}`, 'worker', 'probe');
    await redisReady(probe, 10_000).finally(() => probe.disconnect());
    return child;
  };
  let child = await launch();
  const ended = async (signal: NodeJS.Signals): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exit = new Promise((resolve) => child.once('exit', resolve));
    child.kill(signal);
    await exit;
  };
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    kill: () => ended('SIGKILL'),
    freeze: () => child.kill('SIGSTOP'),
    thaw: () => child.kill('SIGCONT'),
    restart: async () => {
      await ended('SIGKILL');
      child = await launch();
    },
    stop: async () => {
      child.kill('SIGCONT');
      await ended('SIGTERM');
      await rm(folder, { recursive: true, force: true });
    },
  };
}

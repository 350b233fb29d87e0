/** A separate real Redis with its own port and folder, for tests and benches. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openRedis, redisReady } from '../../packages/shared/src/redis/index.ts';
import { freePort } from './ports.ts';

export interface TestRedis {
  readonly url: string;
  readonly port: number;
  /** Of the process that runs now. */
  readonly pid: number;
  /** Where the server keeps its log. */
  readonly folder: string;
  /** Ends the process with SIGKILL, like a crash. */
  kill(): Promise<void>;
  /** Stops the process with SIGSTOP; `thaw` resumes it. */
  freeze(): void;
  thaw(): void;
  /** Starts again on the same port and folder, from its log. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/** Lehr's own Redis writes its log to disk like this, so benches use it too. */
export const FSYNC_EVERY_SECOND = ['--appendfsync', 'everysec'];

/** A busy machine starts a process late. */
const START_LIMIT_MS = 60_000;
/** Characters of the log in an error. */
const LOG_SHOWN = 2000;

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
      // The log is written before the reply, so a kill loses nothing, and never waits for a busy disk.
      '--appendfsync',
      'no',
    ];
    const log = join(folder, 'redis.log');
    const child = spawn(
      'redis-server',
      [...args, '--logfile', log, '--maxmemory-policy', 'noeviction', ...extra],
      { stdio: 'ignore' },
    );
    child.on('error', () => {});
    const probe = openRedis(`redis://127.0.0.1:${port}`, 'worker', 'probe');
    try {
      await redisReady(probe, START_LIMIT_MS);
    } catch (cause) {
      const lines = await readFile(log, 'utf8').catch(() => 'no log');
      throw new Error(`redis-server did not start: ${lines.slice(-LOG_SHOWN)}`, { cause });
    } finally {
      probe.disconnect();
    }
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
    get pid() {
      return child.pid ?? 0;
    },
    folder,
    kill: () => ended('SIGKILL'),
    freeze: () => child.kill('SIGSTOP'),
    thaw: () => child.kill('SIGCONT'),
    restart: async () => {
      await ended('SIGKILL');
      child = await launch();
    },
    // Not SIGTERM: a server that writes the first log of a new role refuses to end, and does not try again.
    stop: async () => {
      await ended('SIGKILL');
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** A Redis that loads a dump and serves it on a socket in a private folder, without a port. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { LehrError } from '@lehr/shared';
import { openRedis, type Redis, redisReady } from '@lehr/shared/redis';
import type { ProgramOptions } from './dump.ts';
import { lastWords, notInstalled } from './run-program.ts';

/** A dump of many gigabytes takes minutes. */
const LOAD_MS = 30 * 60_000;
const STOP_MS = 10_000;

export interface ScratchServer {
  readonly redis: Redis;
  stop(): Promise<void>;
}

/** Throws `conflict` when this version of Redis cannot load the dump. */
export async function openScratch(
  file: string,
  db: number,
  { env, signal }: ProgramOptions,
): Promise<ScratchServer> {
  const folder = dirname(file);
  const socket = join(folder, 'redis.sock');
  const log = join(folder, 'redis.log');
  const settings = {
    port: '0',
    unixsocket: socket,
    unixsocketperm: '700',
    dir: folder,
    dbfilename: basename(file),
    save: '',
    appendonly: 'no',
    logfile: log,
  };
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
  const child = spawn('redis-server', args, { env, signal, stdio: 'ignore' });
  const failed = once(child, 'error').then(([error]) => Promise.reject(notInstalled('redis-server', error)));
  const ended = once(child, 'exit').then(async () => {
    const text = await readFile(log, 'utf8').catch(() => '');
    throw new LehrError('conflict', `redis-server did not load the dump: ${lastWords(text)}`);
  });
  for (const end of [failed, ended]) end.catch(() => {});
  const redis = openRedis(socket, 'worker', 'restore');
  const stop = async (): Promise<void> => {
    redis.disconnect();
    if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
    const exit = once(child, 'exit');
    child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
    await exit;
    clearTimeout(timer);
  };
  try {
    await Promise.race([redisReady(redis, LOAD_MS), failed, ended]);
    if (db > 0) await redis.select(db);
    return { redis, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

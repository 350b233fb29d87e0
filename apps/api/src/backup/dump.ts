/** A dump of all keys of a Redis at one moment (an RDB file). redis-cli fetches it as a replica does; Redis itself keeps serving. */
import { LehrError } from '@lehr/shared';
import type { Redis, RedisAddress } from '@lehr/shared/redis';
import { lastWords, runProgram } from './run-program.ts';

export interface ProgramOptions {
  /** The environment of the programs of Redis. */
  readonly env: NodeJS.ProcessEnv;
  readonly signal: AbortSignal;
}

/** `redis` is a ready connection to the same server: with Sentinels, it knows which one is the master. */
export async function dumpRdb(
  address: RedisAddress,
  redis: Redis,
  file: string,
  { env, signal }: ProgramOptions,
): Promise<void> {
  const url = new URL(address.url);
  const { remoteAddress, remotePort } = redis.stream as { remoteAddress?: string; remotePort?: number };
  const host = address.sentinels ? (remoteAddress ?? '') : url.hostname.replace(/^\[|\]$/g, '');
  const port = address.sentinels ? remotePort : url.port || 6379;
  const args = ['-h', host, '-p', `${port}`];
  if (url.username) args.push('--user', decodeURIComponent(url.username));
  if (url.protocol === 'rediss:') args.push('--tls', '--sni', url.hostname);
  if (url.protocol === 'rediss:' && env.NODE_EXTRA_CA_CERTS) args.push('--cacert', env.NODE_EXTRA_CA_CERTS);
  const { code, output } = await runProgram('redis-cli', [...args, '--rdb', file], {
    // Not an argument: other users can see those.
    env: { ...env, ...(url.password && { REDISCLI_AUTH: decodeURIComponent(url.password) }) },
    signal,
  });
  if (code === 0) return;
  throw new LehrError(
    'unavailable',
    `Redis gave no dump: ${lastWords(output)}. A managed Redis may refuse it: let it make a snapshot, and store that with --rdb FILE.`,
  );
}

/** Reads the whole file and its checksum. Returns the number of its keys; throws `conflict` when it is damaged. */
export async function countKeys(file: string, { env, signal }: ProgramOptions): Promise<number> {
  const { code, output } = await runProgram('redis-check-rdb', [file], { env, signal });
  const keys = /(\d+) keys read/.exec(output)?.[1];
  if (code === 0 && keys !== undefined) return Number(keys);
  throw new LehrError('conflict', `the dump cannot be read: ${lastWords(output)}`);
}

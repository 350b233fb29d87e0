/** Where Redis is: one server, or the server that a group of Sentinels names as the master. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { RedisOptions } from 'ioredis';

export interface RedisAddress {
  /** `redis://` or `rediss://` (TLS), with username, password and database where needed. */
  readonly url: string;
  /** `host:port` of each Sentinel. With Sentinels, the host of `url` is the name of the master. */
  readonly sentinels?: readonly string[] | undefined;
  /** Of the Sentinels, if they have one. */
  readonly sentinelPassword?: string | undefined;
}

/** The address in the configuration of a process: `redis://primary?sentinels=host1:26379,host2:26379&sentinelPassword=...` or without. */
export function redisAddress({ LEHR_REDIS_URL }: { readonly LEHR_REDIS_URL: string }): RedisAddress {
  const url = new URL(LEHR_REDIS_URL);
  const [sentinels, sentinelPassword] = ['sentinels', 'sentinelPassword'].map((name) => {
    const value = url.searchParams.get(name) ?? undefined;
    url.searchParams.delete(name);
    return value;
  });
  return { url: url.href, sentinels: sentinels?.split(','), sentinelPassword };
}

/** Host and port, or the master's name and its Sentinels. Never the password. */
export function describeAddress({ url, sentinels }: RedisAddress): string {
  const { hostname, port } = new URL(url);
  return sentinels ? `${hostname} (Sentinels ${sentinels.join(', ')})` : `${hostname}:${port || 6379}`;
}

/** What ioredis needs beyond the URL. TLS holds for the master and for the Sentinels. */
export function sentinelOptions({ url, sentinels, sentinelPassword }: RedisAddress): RedisOptions {
  if (!sentinels) return {};
  const { protocol, hostname, username, password, pathname } = new URL(url);
  return {
    sentinels: sentinels.map((sentinel) => {
      const { hostname: host, port } = new URL(`redis://${sentinel}`);
      return { host: host.replace(/^\[|\]$/g, ''), port: Number(port || 26_379) };
    }),
    name: hostname,
    ...(username && { username: decodeURIComponent(username) }),
    ...(password && { password: decodeURIComponent(password) }),
    ...(pathname.length > 1 && { db: Number(pathname.slice(1)) }),
    ...(sentinelPassword && { sentinelPassword }),
    ...(protocol === 'rediss:' && { tls: {}, enableTLSForSentinelMode: true, sentinelTLS: {} }),
    // Leaves a master that was demoted while its connection stayed open.
    failoverDetector: true,
  };
}

/** `source` with the address that `npm start` wrote to a file in LEHR_HOME, unless it has one. */
export async function withLocalRedis(
  source: Readonly<Record<string, string | undefined>>,
): Promise<Readonly<Record<string, string | undefined>>> {
  if (source.LEHR_REDIS_URL) return source;
  const file = join(source.LEHR_HOME || '.lehr', 'redis-url');
  const local = await readFile(file, 'utf8').catch(() => undefined);
  return { ...source, LEHR_REDIS_URL: local?.trim() };
}

/** A connection to the Redis of an installation. */
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';

const TIMEOUT_MS = 2000;

/** Rejects when no Redis accepts this password there; with a `RedisSilence` when a connection opens but gets no answer. */
export async function openRedis({ port, password }) {
  const redis = new Redis({
    host: '127.0.0.1',
    port,
    lazyConnect: true,
    // The default protocol would send commands before the password.
    protocol: 2,
    disableClientInfo: true,
    connectTimeout: TIMEOUT_MS,
    // With these, a server that still loads its log answers LOADING, and a lost connection is not opened again.
    enableReadyCheck: false,
    retryStrategy: () => null,
    maxRetriesPerRequest: 0,
  });
  // The commands of a lost connection reject; without a listener this event would end the process.
  redis.on('error', () => {});
  try {
    await answered(redis.connect());
    // Not as an option of the client, because ioredis would also accept a server without a password, which is another one.
    await answered(redis.auth(password));
    await answered(redis.ping());
    return redis;
  } catch (error) {
    redis.disconnect();
    throw error;
  }
}

/** Resolves when the connection is closed. */
export const closed = (redis) => (redis.status === 'end' ? undefined : once(redis, 'end'));

export class RedisSilence extends Error {}

function answered(reply) {
  const limit = new AbortController();
  const silence = delay(TIMEOUT_MS, undefined, { signal: limit.signal }).then(() => {
    throw new RedisSilence(`no answer in ${TIMEOUT_MS / 1000} s`);
  });
  return Promise.race([reply, silence]).finally(() => limit.abort());
}

/** A connection to the Redis of an installation. */
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';

const TIMEOUT_MS = 2000;

/** Rejects when no Redis answers there, or not to this password: with a `RedisSilence` when something accepts connections only. */
export async function openRedis({ port, password }) {
  const redis = new Redis({
    host: '127.0.0.1',
    port,
    lazyConnect: true,
    // Nothing is sent before the password.
    protocol: 2,
    disableClientInfo: true,
    connectTimeout: TIMEOUT_MS,
    // A server that reads its log back must be told apart, and a lost connection must stay lost.
    enableReadyCheck: false,
    retryStrategy: () => null,
    maxRetriesPerRequest: 0,
  });
  // A lost connection shows in the commands that fail.
  redis.on('error', () => {});
  try {
    await answered(redis.connect());
    // Not as an option: to a server without a password ioredis would connect all the same, and that server is not ours.
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

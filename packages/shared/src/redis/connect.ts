/**
 * Opens Redis connections, with the behaviour in an outage set here by the role of the connection. The only importer of
 * ioredis.
 *
 * With ioredis's default settings, connections resumed 17 s after a Redis outage of 20 s (exponential backoff up to 20 s)
 * and a request hung for over a minute. With these, they resume within a second and fail fast where a caller waits.
 */
import { Redis, type RedisOptions } from 'ioredis';
import { LehrError } from '../errors.ts';

export type { Redis } from 'ioredis';

/**
 * - `api`: a caller waits for the answer. Fails at once while disconnected and after 2 s without a reply.
 * - `worker`: queue and record commands of a worker. Waits through a reconnect, gives up on one command after 10 s.
 * - `blocking`: one blocking pop at a time. No command timeout; a silent socket is dropped after 20 s, and the pop is sent again.
 * - `subscriber`: channels only; resubscribes after a reconnect.
 */
export type ConnectionRole = 'api' | 'worker' | 'blocking' | 'subscriber';

const RECONNECT_CAP_MS = 1000;

const ROLE_OPTIONS: Record<ConnectionRole, RedisOptions> = {
  api: { enableOfflineQueue: false, commandTimeout: 2000, maxRetriesPerRequest: 1 },
  worker: { commandTimeout: 10_000, maxRetriesPerRequest: null },
  // null: a command left unanswered by a lost connection is sent again; otherwise ioredis drops it and the pop never returns.
  blocking: { socketTimeout: 20_000, maxRetriesPerRequest: null },
  subscriber: { maxRetriesPerRequest: null },
};

export function openRedis(url: string, role: ConnectionRole, name = role as string): Redis {
  const redis = new Redis(url, {
    ...ROLE_OPTIONS[role],
    connectionName: `lehr-${name}`,
    keepAlive: 5000,
    connectTimeout: 2000,
    // Exponential backoff with jitter.
    retryStrategy: (times) =>
      Math.min(50 * 2 ** Math.min(times, 10), RECONNECT_CAP_MS) * (0.75 + Math.random() / 4),
    lazyConnect: false,
  });
  // Without a listener a lost connection would end the process; the commands themselves report the loss.
  redis.on('error', () => {});
  if (role === 'api') redis.on('connect', () => coalesceWrites(redis.stream));
  return redis;
}

/**
 * Sends the commands of one turn of the event loop in one write. Many requests run at once, and a write costs more than
 * everything else about a command. ioredis's own autopipelining sends the next commands only after the replies to the last
 * ones, which doubles the time until a silent server is noticed.
 */
function coalesceWrites(stream: Redis['stream']): void {
  const write = stream.write;
  let corked = false;
  const uncork = (): void => {
    corked = false;
    stream.uncork();
  };
  stream.write = function coalesced(this: typeof stream, ...args: Parameters<typeof write>) {
    if (!corked) {
      corked = true;
      stream.cork();
      setImmediate(uncork);
    }
    return write.apply(this, args);
  } as typeof write;
}

/** Resolves when the connection can take commands; rejects with `unavailable` when it cannot within `timeoutMs`. */
export async function redisReady(redis: Redis, timeoutMs = 5000): Promise<void> {
  if (redis.status === 'ready') return;
  let lastError: unknown;
  const remember = (error: unknown): void => {
    lastError = error;
  };
  redis.on('error', remember);
  try {
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => reject(lastError ?? new Error('no answer')), timeoutMs);
      redis.once('ready', () => {
        clearTimeout(timer);
        resolve();
      });
    });
  } catch (error) {
    throw new LehrError('unavailable', `Redis does not answer at ${describe(redis)}`, { cause: error });
  } finally {
    redis.off('error', remember);
  }
}

/**
 * Refuses every maxmemory-policy but noeviction: jobs live in Redis, and a server that evicts keys would lose them silently.
 * Where INFO does not show the policy (some managed servers), the server is accepted.
 */
export async function assertNoEviction(redis: Redis): Promise<void> {
  const memory = await redis.info('memory');
  const policy = /^maxmemory_policy:(\S+)/m.exec(memory)?.[1];
  if (policy !== undefined && policy !== 'noeviction') {
    throw new LehrError(
      'unavailable',
      `Redis at ${describe(redis)} evicts keys (maxmemory-policy is ${policy}); Lehr needs noeviction, or jobs get lost.`,
    );
  }
}

/** Redis's clock, ms since the epoch. Records and deadlines use it, so they do not depend on the clocks of the processes. */
export async function redisNow(redis: Redis): Promise<number> {
  const [seconds, microseconds] = await redis.time();
  return Number(seconds) * 1000 + Math.floor(Number(microseconds) / 1000);
}

/** Host and port only: the URL may carry a password. */
const describe = (redis: Redis): string => `${redis.options.host}:${redis.options.port}`;

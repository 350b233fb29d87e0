/**
 * The only importer of ioredis: opens connections whose behaviour in an outage is decided here.
 *
 * Stock settings resumed 17 s after a Redis outage of 20 s (exponential back-off up to 20 s) and let a request hang
 * for over a minute; ours come back within a second and fail fast where a caller is waiting.
 */
import { Redis, type RedisOptions } from 'ioredis';
import { LehrError } from '../errors.ts';

export type { Redis } from 'ioredis';

/**
 * - `api`: a caller waits for the answer. Fails at once while disconnected and after 2 s without a reply.
 * - `worker`: queue and record commands of a worker. Waits through a reconnect, gives up on one command after 10 s.
 * - `blocking`: one blocking pop at a time. No command timeout; a silent socket is dropped after 20 s, and the pop is sent again.
 * - `subscriber`: channels only; resubscribes by itself.
 */
export type ConnectionRole = 'api' | 'worker' | 'blocking' | 'subscriber';

const RECONNECT_CAP_MS = 1000;

const ROLE_OPTIONS: Record<ConnectionRole, RedisOptions> = {
  api: { enableOfflineQueue: false, commandTimeout: 2000, maxRetriesPerRequest: 1 },
  worker: { commandTimeout: 10_000, maxRetriesPerRequest: null },
  // Commands that a lost connection left unanswered are sent again: without that ioredis forgets them, and whoever waits for the
  // answer waits for ever.
  blocking: { socketTimeout: 20_000, maxRetriesPerRequest: null },
  subscriber: { maxRetriesPerRequest: null },
};

export function openRedis(url: string, role: ConnectionRole, name = role as string): Redis {
  const redis = new Redis(url, {
    ...ROLE_OPTIONS[role],
    connectionName: `lehr-${name}`,
    keepAlive: 5000,
    connectTimeout: 2000,
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
 * Commands of one turn of the event loop leave in one write. Many requests are under way at once and a write costs more than
 * all else about a command; ioredis's own autopipelining sends the next ones only when the last ones are answered, and so
 * doubles the time until a silent server is noticed.
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
 * Jobs live in Redis; a server that evicts keys under memory pressure would lose them without a word.
 * Refuses any policy but noeviction. Where CONFIG and INFO hide the policy (some managed servers), it is not refused.
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

/** Redis's own clock, ms since the epoch: what records and deadlines are measured by, whoever's clock is wrong. */
export async function redisNow(redis: Redis): Promise<number> {
  const [seconds, microseconds] = await redis.time();
  return Number(seconds) * 1000 + Math.floor(Number(microseconds) / 1000);
}

/** Host and port only: the URL may carry a password. */
const describe = (redis: Redis): string => `${redis.options.host}:${redis.options.port}`;

/**
 * Opens Redis connections, with the behaviour in an outage set here by the role of the connection. The only importer of
 * ioredis.
 *
 * With ioredis's default settings, connections resumed 17 s after a Redis outage of 20 s (exponential backoff up to 20 s)
 * and a request hung for over a minute. With these, they resume within a second and fail fast where a caller waits.
 */
import { Redis, type RedisOptions } from 'ioredis';
import { LehrError } from '../base/errors.ts';
import { backoffMs, withJitter } from '../base/retry.ts';
import { type RedisAddress, sentinelOptions } from './address.ts';

export type { Redis } from 'ioredis';

/**
 * A network can lose all packets of a connection without closing it. Each role drops a connection on which a command got no
 * byte of reply for `socketTimeout` ms, and opens another one.
 *
 * - `api`: a caller waits for the answer. Fails at once while disconnected and after 2 s without a reply.
 * - `worker`: queue and record commands of a worker. Waits through a reconnect, gives up on one command after 10 s. Its socket
 *   timeout is shorter, so that a command on a lost connection is sent again in that time.
 * - `blocking`: one blocking pop at a time. No command timeout; the pop is sent again.
 * - `subscriber`: channels only; resubscribes after a reconnect. It sends a PING every 5 s, because a subscription waits for
 *   no reply that could be missed.
 */
export type ConnectionRole = 'api' | 'worker' | 'blocking' | 'subscriber';

const RECONNECTS = { firstMs: 100, maxMs: 1000 };
const CONNECT_TIMEOUT_MS = 2000;
const HANDSHAKE_TIMEOUT_MS = 2000;

const ROLE_OPTIONS: Record<ConnectionRole, RedisOptions> = {
  api: { enableOfflineQueue: false, commandTimeout: 2000, socketTimeout: 4000, maxRetriesPerRequest: 1 },
  worker: { commandTimeout: 10_000, socketTimeout: 6000, maxRetriesPerRequest: null },
  // null: a command left unanswered by a lost connection is sent again; otherwise ioredis drops it and the pop never returns.
  blocking: { socketTimeout: 20_000, maxRetriesPerRequest: null },
  subscriber: { socketTimeout: 5000, maxRetriesPerRequest: null },
};
const PING_EVERY_MS = 5000;

/** `address` may be the URL alone. */
export function openRedis(
  address: string | RedisAddress,
  role: ConnectionRole,
  name = role as string,
): Redis {
  const server = typeof address === 'string' ? { url: address } : address;
  const redis = connection(server, {
    ...ROLE_OPTIONS[role],
    connectionName: `lehr-${name}`,
    // It needs CLIENT SETINFO, which Redis 6.2 and 7.0 do not have.
    disableClientInfo: true,
    keepAlive: 5000,
    connectTimeout: CONNECT_TIMEOUT_MS,
    retryStrategy: (times) => withJitter(backoffMs(RECONNECTS, times)),
    // The server was demoted. Its name, or the Sentinels, lead to the new master; the caller repeats the command.
    reconnectOnError: (error) => error.message.startsWith('READONLY'),
    lazyConnect: false,
  });
  // Without a listener a lost connection would end the process; the commands themselves report the loss.
  redis.on('error', () => {});
  redis.on('connect', () => limitHandshake(redis.stream));
  // The one command of a blocking connection has nothing to wait for.
  if (role !== 'blocking') redis.on('connect', () => coalesceWrites(redis.stream));
  const stopPings = role === 'subscriber' ? pingRegularly(redis) : () => {};
  reconnectUntilDisconnected(redis, stopPings);
  return redis;
}

const connection = (address: RedisAddress, options: RedisOptions): Redis =>
  address.sentinels
    ? new Redis({ ...options, ...sentinelOptions(address) })
    : new Redis(address.url, options);

/**
 * A server that accepts a connection and then says nothing is left after this time, whatever the socket timeout of the role:
 * once the network works again, no process should still wait for a handshake that it began before.
 */
function limitHandshake(stream: Redis['stream']): void {
  const timer = setTimeout(
    () => stream.destroy(new Error(`no answer to the handshake within ${HANDSHAKE_TIMEOUT_MS} ms`)),
    HANDSHAKE_TIMEOUT_MS,
  );
  const stop = (): void => clearTimeout(timer);
  stream.once('data', stop).once('close', stop);
}

/** Returns a function that ends the pings. */
function pingRegularly(redis: Redis): () => void {
  const timer = setInterval(() => {
    if (redis.status === 'ready') redis.ping().catch(() => {});
  }, PING_EVERY_MS);
  timer.unref();
  return () => clearInterval(timer);
}

/**
 * Only `disconnect` closes a connection for good. ioredis also gives a connection up when it learns of a failover in the moment
 * in which it asks a Sentinel for the master: its connector ends that attempt, and it makes no other.
 */
function reconnectUntilDisconnected(redis: Redis, onDisconnect: () => void): void {
  const disconnect = redis.disconnect.bind(redis);
  let isDisconnected = false;
  redis.disconnect = (reconnect = false) => {
    if (!reconnect) {
      isDisconnected = true;
      onDisconnect();
    }
    disconnect(reconnect);
  };
  redis.on('end', () => {
    if (!isDisconnected) redis.connect().catch(() => {});
  });
}

/**
 * Sends the commands of one turn of the event loop in one write. Many requests or jobs run at once, and a write costs more
 * than everything else about a command. ioredis's own autopipelining sends the next commands only after the replies to the last
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

/**
 * Resolves when the connection can take commands; rejects with `unavailable` when it cannot within `timeoutMs`, or when the server refuses
 * its user and password.
 */
export async function redisReady(redis: Redis, timeoutMs = 5000): Promise<void> {
  if (redis.status === 'ready') return;
  let onError = (_error: Error): void => {};
  try {
    await new Promise<void>((resolve, reject) => {
      let lastError = new Error('no answer');
      const timer = setTimeout(() => reject(lastError), timeoutMs);
      const end = (settle: () => void): void => {
        clearTimeout(timer);
        settle();
      };
      onError = (error) => {
        lastError = error;
        if (REFUSAL.test(error.message)) end(() => reject(error));
      };
      redis.on('error', onError).once('ready', () => end(resolve));
    });
  } catch (error) {
    throw new LehrError('unavailable', whyNotReady(redis, error as Error), { cause: error });
  } finally {
    redis.off('error', onError);
  }
}

/** Of a server that answers, and wants another user or password. */
const REFUSAL = /\b(?:NOAUTH|WRONGPASS)\b/;

function whyNotReady(redis: Redis, { message }: Error): string {
  const [refusal] = REFUSAL.exec(message) ?? [];
  if (!refusal) return `Redis does not answer at ${describe(redis)}`;
  const orSentinels = redis.options.sentinels ? ', or sentinelPassword there' : '';
  return `Redis at ${describe(redis)} answers ${refusal}: correct user and password in LEHR_REDIS_URL${orSentinels}`;
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

/** What to do while `droppedCommands` is not 0. */
export const DROPPED_ADVICE =
  'Its log still has them until Redis rewrites it: before that, write "user default off ~* &* +@all" into its ACL file and restart it ' +
  '(docs/operating.md, "When Redis has dropped a part of its log").';

/**
 * How many commands of its log Redis has refused since it started, or as a replica of its master: what they wrote is missing, and Redis
 * serves the rest without an error. It loads its log as its default user, and refuses transactions for which that user has no rights.
 */
export async function droppedCommands(redis: Redis): Promise<number> {
  return Number(/^unexpected_error_replies:(\d+)/m.exec(await redis.info('stats'))?.[1] ?? 0);
}

export async function assertNothingDropped(redis: Redis): Promise<void> {
  const count = await droppedCommands(redis);
  if (count > 0) {
    throw new LehrError(
      'unavailable',
      `Redis at ${describe(redis)} dropped ${count} commands when it loaded its log: jobs, keys and secrets are missing. ${DROPPED_ADVICE}`,
    );
  }
}

/** Redis's clock, ms since the epoch. Records and deadlines use it, so they do not depend on the clocks of the processes. */
export async function redisNow(redis: Redis): Promise<number> {
  const [seconds, microseconds] = await redis.time();
  return Number(seconds) * 1000 + Math.floor(Number(microseconds) / 1000);
}

/** Without user and password. */
const describe = ({ options: { name, sentinels, host, port } }: Redis): string =>
  sentinels ? `${name}, by ${sentinels.length} Sentinels` : `${host}:${port}`;

/**
 * Separates errors that mean an outage of Redis from all others. ioredis has no common class for them, so their messages are
 * compared; test/api/redis-outage.test.ts produces them with a Redis that is dead, frozen or full.
 */
const MESSAGES = [
  'Connection is closed.',
  'Command timed out',
  "Stream isn't writeable and enableOfflineQueue options is false",
];
const NAMES = ['MaxRetriesPerRequestError', 'AbortError'];
/**
 * Replies of a server that is up and cannot serve: loading, full, a replica, failing over, unable to persist; or a
 * transaction it refused for one of these.
 */
const REPLIES =
  /^(?:LOADING|OOM|EXECABORT|READONLY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|MISCONF|NOREPLICAS|BUSY) /;
const SOCKET_CODES = ['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND', 'EAI_AGAIN'];

export function isRedisOutage(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (MESSAGES.includes(error.message) || NAMES.includes(error.name)) return true;
  if (REPLIES.test(error.message)) return true;
  return 'syscall' in error && 'code' in error && SOCKET_CODES.includes(String(error.code));
}

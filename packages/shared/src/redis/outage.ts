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

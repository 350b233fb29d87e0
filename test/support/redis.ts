/** Redis for tests: a server, unique keys, and connections that close with their test. */
import { type Keys, keysOf, openRedis, type Redis } from '../../packages/shared/src/redis/index.ts';

import { whenDone } from './cleanup.ts';

export { startRedis, type TestRedis } from './redis-server.ts';

let namespaces = 0;
/** Keys with a new prefix, because the tests of one file share a server but no data. */
export const freshKeys = (): Keys => keysOf(`test-${process.pid}-${++namespaces}`);

/** A connection that closes at the end of the test that opened it. */
export function testRedis(url: string, role: Parameters<typeof openRedis>[1] = 'worker'): Redis {
  const redis = openRedis(url, role);
  whenDone(() => redis.disconnect());
  return redis;
}

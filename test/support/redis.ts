/** Redis for tests: a server, keys nobody else uses, connections that end with their test. */
import { onTestFinished } from 'vitest';
import { type Keys, keysOf, openRedis, type Redis } from '../../packages/shared/src/redis/index.ts';

export { startRedis, type TestRedis } from './redis-server.ts';

let namespaces = 0;
/** Keys nobody else uses: tests of one file share a server, not data. */
export const freshKeys = (): Keys => keysOf(`test-${process.pid}-${++namespaces}`);

/** A connection that closes when the test that opened it is over. */
export function testRedis(url: string, role: Parameters<typeof openRedis>[1] = 'worker'): Redis {
  const redis = openRedis(url, role);
  onTestFinished(() => redis.disconnect());
  return redis;
}

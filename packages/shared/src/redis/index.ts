export {
  assertNoEviction,
  openRedis,
  type Redis,
  redisNow,
  redisReady,
} from './connect.ts';
export { type Keys, keysOf } from './keys.ts';
export { isRedisOutage } from './outage.ts';
export { defineScript, type Script } from './script.ts';

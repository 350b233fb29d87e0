export {
  assertNoEviction,
  type ChainableCommander,
  openRedis,
  type Redis,
  redisNow,
  redisReady,
} from './connect.ts';
export { type Keys, keysOf } from './keys.ts';
export { defineScript, type Script } from './script.ts';

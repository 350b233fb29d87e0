export { describeAddress, type RedisAddress, redisAddress, withLocalRedis } from './address.ts';
export {
  assertNoEviction,
  assertNothingDropped,
  type ConnectionRole,
  DROPPED_ADVICE,
  droppedCommands,
  isRedisOutage,
  openRedis,
  type Redis,
  redisNow,
  redisReady,
} from './connect.ts';
export { type Keys, keysOf } from './keys.ts';
export { FULL_SHARE, memoryShare, parseMemory, type RedisMemory, readMemory } from './memory.ts';
export { defineScript, repliesOf, type Script } from './script.ts';

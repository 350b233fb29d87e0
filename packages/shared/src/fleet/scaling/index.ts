/** Decides how many workers a pool should have. */
export {
  NO_MEMORY,
  type PoolState,
  type ScaleDecision,
  type ScaleMemory,
} from './decision.ts';
export { desiredWorkers, startMsOf } from './desired-workers.ts';
export { limitsAt, type Pool, type ScalePolicy, ScalePolicySchema } from './policy.ts';
export { covers, DEFAULT_POOL, DEFAULT_POOLS, parsePools, type Served } from './pools.ts';

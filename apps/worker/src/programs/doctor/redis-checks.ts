/** Checks that Redis keeps the jobs that are stored in it. */
import {
  DROPPED_ADVICE,
  droppedCommands,
  FULL_SHARE,
  parseMemory,
  type Redis,
  redisNow,
  redisReady,
} from '@lehr/shared/redis';
import type { Check } from './check.ts';

const OLDEST = [6, 2];
const SLOW_MS = 20;
/** The shortest of several is the distance to Redis; a single one may be slow because a machine is busy. */
const PINGS = 5;
const MAX_SKEW_MS = 2_000;
const TIMEOUT_MS = 5_000;

/** Ends after the first check when Redis does not answer. `where` is the server's address without its password. */
export async function* checkRedis(redis: Redis, where: string): AsyncGenerator<Check, undefined> {
  try {
    await redisReady(redis, TIMEOUT_MS);
    yield await serverCheck(redis, where);
  } catch (error) {
    const { message, cause } = error as Error;
    const detail = cause instanceof Error ? `${message}: ${cause.message}` : message;
    const advice = 'Start Redis, or set LEHR_REDIS_URL to its address, with user and password.';
    return void (yield { name: 'Redis', state: 'fail', detail, advice });
  }
  const memory = await redis.info('memory');
  yield policyCheck(memory);
  yield memoryCheck(memory);
  yield logCheck(await redis.info('persistence'), await droppedCommands(redis));
  yield await clockCheck(redis);
}

async function serverCheck(redis: Redis, where: string): Promise<Check> {
  const name = 'Redis';
  const version = fieldOf(await redis.info('server'), 'redis_version') ?? '0';
  const [major, minor] = version.split('.').map(Number);
  if (major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1])) {
    const advice = `Lehr needs ${OLDEST.join('.')} or newer.`;
    return { name, state: 'fail', detail: `${version} at ${where}`, advice };
  }
  let ms = Number.POSITIVE_INFINITY;
  for (let i = 0; i < PINGS; i++) {
    const startedAt = performance.now();
    await redis.ping();
    ms = Math.min(ms, performance.now() - startedAt);
  }
  const detail = `${version} at ${where}, answers in ${ms.toFixed(1)} ms`;
  if (ms < SLOW_MS) return { name, state: 'ok', detail };
  return { name, state: 'warn', detail, advice: 'Every claim waits for it: run it closer to the workers.' };
}

function policyCheck(memory: string): Check {
  const name = 'Redis policy';
  const value = fieldOf(memory, 'maxmemory_policy');
  if (value === 'noeviction') return { name, state: 'ok', detail: value };
  const advice =
    'Set maxmemory-policy noeviction (infra/redis.conf): any other policy deletes jobs when memory is short.';
  if (value === undefined) return { name, state: 'warn', detail: 'the server does not report it', advice };
  return { name, state: 'fail', detail: value, advice };
}

function memoryCheck(memory: string): Check {
  const name = 'Redis memory';
  const share = parseMemory(memory)?.share;
  if (share === undefined) return { name, state: 'ok', detail: 'maxmemory sets no limit' };
  const detail = `${Math.round(share * 100)} % of maxmemory in use`;
  if (share < FULL_SHARE) return { name, state: 'ok', detail };
  const advice =
    'Raise maxmemory, or keep finished jobs for a shorter time (LEHR_RECORD_TTL_H): no job is accepted now.';
  return { name, state: 'fail', detail, advice };
}

function logCheck(persistence: string, dropped: number): Check {
  const name = 'Redis log';
  if (dropped > 0) {
    const detail = `${dropped} commands were dropped when it was loaded: jobs, keys and secrets are missing`;
    return { name, state: 'fail', detail, advice: DROPPED_ADVICE };
  }
  if (fieldOf(persistence, 'aof_enabled') !== '1') {
    const advice = 'Set appendonly yes (infra/redis.conf): without it a crash of Redis loses jobs.';
    return { name, state: 'warn', detail: 'the append-only log is off', advice };
  }
  const written = fieldOf(persistence, 'aof_last_write_status');
  if (written === 'ok') return { name, state: 'ok', detail: 'append-only, written' };
  const advice = 'Check the disk that Redis writes to.';
  return { name, state: 'fail', detail: `its last write: ${written}`, advice };
}

async function clockCheck(redis: Redis): Promise<Check> {
  const name = 'clock of Redis';
  const before = Date.now();
  const redisMs = await redisNow(redis);
  const skewMs = Math.round(redisMs - (before + Date.now()) / 2);
  if (Math.abs(skewMs) <= MAX_SKEW_MS) return { name, state: 'ok', detail: 'agrees with this machine' };
  const detail = `${Math.abs(skewMs)} ms ${skewMs < 0 ? 'behind' : 'ahead of'} this machine`;
  return {
    name,
    state: 'warn',
    detail,
    advice: 'Synchronize both clocks with NTP: deadlines and links contain times.',
  };
}

/** A field of an INFO reply. */
const fieldOf = (info: string, name: string): string | undefined =>
  new RegExp(`^${name}:(\\S+)`, 'm').exec(info)?.[1];

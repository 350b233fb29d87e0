/** Whether the Redis that jobs live in keeps them. */
import { type Redis, redisNow, redisReady } from '@lehr/shared/redis';
import type { Check } from './check.ts';

const OLDEST = [6, 2];
const SLOW_MS = 20;
/** The quickest tells how far away it is; one alone may fall on a moment when either machine is busy. */
const PINGS = 5;
const MAX_SKEW_MS = 2_000;
const PATIENCE_MS = 5_000;

/** Stops at the first check that makes the others pointless. `where` is the server as it may be shown. */
export async function* checkRedis(redis: Redis, where: string): AsyncGenerator<Check, undefined> {
  try {
    await redisReady(redis, PATIENCE_MS);
    yield await answers(redis, where);
  } catch (error) {
    const why = ((error as Error).cause as Error | undefined)?.message || (error as Error).message;
    const advice = 'Start Redis, or set LEHR_REDIS_URL to where it is.';
    return void (yield { name: 'Redis', state: 'fail', detail: `no answer at ${where}: ${why}`, advice });
  }
  yield policy(await redis.info('memory'));
  yield* log(await redis.info('persistence'));
  yield await clock(redis);
}

async function answers(redis: Redis, where: string): Promise<Check> {
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
  return { name, state: 'warn', detail, advice: 'Every claim and every step waits for it: bring it nearer.' };
}

function policy(memory: string): Check {
  const name = 'Redis policy';
  const found = fieldOf(memory, 'maxmemory_policy');
  if (found === 'noeviction') return { name, state: 'ok', detail: found };
  const advice =
    'Set maxmemory-policy noeviction (infra/redis.conf): any other loses jobs when memory runs short.';
  if (found === undefined) return { name, state: 'warn', detail: 'the server does not tell it', advice };
  return { name, state: 'fail', detail: found, advice };
}

function* log(persistence: string): Generator<Check, undefined> {
  const name = 'Redis log';
  if (fieldOf(persistence, 'aof_enabled') !== '1') {
    const advice = 'Set appendonly yes (infra/redis.conf): without it a crash of Redis forgets jobs.';
    return void (yield { name, state: 'warn', detail: 'the append-only log is off', advice });
  }
  const written = fieldOf(persistence, 'aof_last_write_status');
  if (written === 'ok') return void (yield { name, state: 'ok', detail: 'append-only, written' });
  yield {
    name,
    state: 'fail',
    detail: `its last write: ${written}`,
    advice: 'Look at the disk Redis writes to.',
  };
}

async function clock(redis: Redis): Promise<Check> {
  const name = 'clock of Redis';
  const before = Date.now();
  const there = await redisNow(redis);
  const skewMs = Math.round(there - (before + Date.now()) / 2);
  if (Math.abs(skewMs) <= MAX_SKEW_MS) return { name, state: 'ok', detail: 'agrees with this machine' };
  const detail = `${Math.abs(skewMs)} ms ${skewMs < 0 ? 'behind' : 'ahead of'} this machine`;
  return { name, state: 'warn', detail, advice: 'Keep both by NTP: deadlines and links carry times.' };
}

/** Of an answer to INFO. */
const fieldOf = (info: string, name: string): string | undefined =>
  new RegExp(`^${name}:(\\S+)`, 'm').exec(info)?.[1];

/**
 * The quotas of a key: requests and engine seconds per minute, and sign-ins to the studio. The only importer of rate-limiter-flexible.
 *
 * Refused requests are not counted: Replicate's client retries a refusal six times within 15 ms and must not be punished for it.
 * After a refusal, further requests of the same key are refused from memory for a second, before their body is read. Without
 * Redis there is no fallback limiter, because a job could not be stored either.
 */
import type { Clock } from '@lehr/shared';
import { BUDGET_LUA } from '@lehr/shared/queue';
import type { Keys, Redis } from '@lehr/shared/redis';
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import type { Caller } from '../auth/authenticator.ts';
import { type Quota, QuotaError } from './quota.ts';

const WINDOW_S = 60;
/** Sign-ins to the studio and links for them, of a key. Each sign-in adds an entry to the audit log, which is kept for long. */
const SIGN_INS = [
  { points: 10, duration: WINDOW_S, per: 'minute' },
  { points: 200, duration: 86_400, per: 'day' },
] as const;
/** How long a refusal is repeated from memory. */
const PENALTY_MS = 1000;
/** A guess: a job slot becomes free when any job of the tenant ends. */
const JOB_SLOT_RETRY_S = 5;
/** Limiters of different limits that are kept; above this all are dropped. What was spent is in Redis. */
const MAX_LIMITERS = 1000;

/**
 * A token bucket in place of the library's fixed window. A job is admitted when the bucket is not empty, and the bucket can go
 * into debt: a job that costs more than a full bucket is admitted too, and paid off over time.
 * KEYS[1] the key; ARGV[1] points to take (negative: to refund), ARGV[3] points of a full bucket.
 * Returns the points in use (more than a full bucket for a refusal) and the ms until the bucket is full (for a refusal: until it
 * is not empty).
 */
const CHARGE_LUA = `${BUDGET_LUA}
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local taken, full = tonumber(ARGV[1]), tonumber(ARGV[3])
local used = budget_used(KEYS[1], full, now)
if taken > 0 and used >= full then
  return { full + 1, math.ceil((used - full) * BUDGET_WINDOW_MS / full) + 1 }
end
used = math.max(0, used + taken)
local ms = set_budget(KEYS[1], used, full, now)
return { math.min(full, math.ceil(used)), ms }`;

interface Penalty {
  /** By the monotonic clock, ms. */
  readonly until: number;
  readonly message: string;
  readonly quota: Quota;
}

export class Quotas {
  readonly #redis: Redis;
  readonly #keys: Keys;
  readonly #clock: Clock;
  readonly #budgets = new Map<number, RateLimiterRedis>();
  readonly #rates = new Map<number, RateLimiterMemory>();
  readonly #penalties = new Map<string, Penalty>();
  readonly #signIns = SIGN_INS.map((limit) => ({ ...limit, limiter: new RateLimiterMemory(limit) }));

  constructor(redis: Redis, keys: Keys, clock: Clock) {
    this.#redis = redis;
    this.#keys = keys;
    this.#clock = clock;
  }

  /** Counts a request in memory only, so that it can run before the body is read. Throws QuotaError. */
  async admitRequest({ keyId, limits }: Caller): Promise<void> {
    const penalty = this.#penalties.get(keyId);
    if (penalty) {
      if (penalty.until > this.#clock.monotonic()) throw new QuotaError(penalty.message, penalty.quota);
      this.#penalties.delete(keyId);
    }
    const points = limits.requests_per_minute;
    if (points === null) return;
    const limiter = limiterOf(
      this.#rates,
      points,
      () => new RateLimiterMemory({ points, duration: WINDOW_S }),
    );
    const refused = await refusalOf(limiter.consume(keyId));
    if (!(refused instanceof RateLimiterRes)) return;
    const quota = {
      limit: points,
      remaining: 0,
      resetS: Math.ceil(refused.msBeforeNext / 1000),
      policy: { unit: 'requests', windowS: WINDOW_S },
    };
    throw new QuotaError(`This key may make ${points} requests for jobs and uploads per minute.`, quota);
  }

  /** Counts a sign-in to the studio, or a link for one, in memory. Call it for a key that is known. Throws QuotaError. */
  async admitSignIn({ keyId }: Caller): Promise<void> {
    for (const { limiter, points, duration, per } of this.#signIns) {
      const refused = await refusalOf(limiter.consume(keyId));
      if (!(refused instanceof RateLimiterRes)) continue;
      throw new QuotaError(
        `This key may sign in to the studio or make a link for it ${points} times a ${per}.`,
        {
          limit: points,
          remaining: 0,
          resetS: Math.ceil(refused.msBeforeNext / 1000),
          policy: { unit: 'sign-ins', windowS: duration },
        },
      );
    }
  }

  /**
   * Takes the cost of a job (estimated engine ms) from the budget of the key; `refund` returns it for a job that is not stored.
   * Undefined for a key without a budget. Throws QuotaError when the budget is empty.
   */
  async charge({ keyId, limits }: Caller, costMs: number): Promise<Quota | undefined> {
    const seconds = limits.cost_per_minute_s;
    if (seconds === null) return undefined;
    const limiter = this.#budget(seconds);
    try {
      return budgetQuota(seconds, await limiter.consume(keyId, costMs));
    } catch (error) {
      if (!(error instanceof RateLimiterRes)) throw error;
      const message = `This key may spend ${seconds} engine seconds per minute and has spent them.`;
      throw this.#penalize(keyId, message, budgetQuota(seconds, error), error.msBeforeNext);
    }
  }

  async refund({ keyId, limits }: Caller, costMs: number): Promise<void> {
    if (limits.cost_per_minute_s === null) return;
    await this.#budget(limits.cost_per_minute_s).reward(keyId, costMs);
  }

  /** The error for a tenant that has as many jobs as it may have. */
  tooMany({ keyId, limits }: Caller, jobs: number, of: 'live' | 'queued'): QuotaError {
    const limit = (of === 'live' ? limits.max_jobs : limits.max_queued) ?? jobs;
    const what = of === 'live' ? 'queued or running jobs' : 'queued jobs';
    const quota = { limit, remaining: 0, resetS: JOB_SLOT_RETRY_S };
    return this.#penalize(keyId, `This tenant may have ${limit} ${what} and has ${jobs}.`, quota, PENALTY_MS);
  }

  /**
   * The error for a tenant that uses as many groups as it may; one that it no longer uses is freed after `idleMs`. Jobs of
   * its other groups are admitted, so the key is not kept waiting.
   */
  tooManyGroups(limit: number, idleMs: number): QuotaError {
    const message =
      `This tenant may use ${limit} combinations of model and picture size within ${Math.ceil(idleMs / 60_000)} minutes. ` +
      'Use one of the same sizes again, or wait until one of them has not been used for that long.';
    return new QuotaError(message, { limit, remaining: 0, resetS: JOB_SLOT_RETRY_S });
  }

  /** The error for a tenant whose waiting jobs cost as much as they may. */
  ownBacklog({ keyId, limits }: Caller, waitingMs: number): QuotaError {
    const percent = Math.round((limits.max_backlog_share ?? 1) * 100);
    const message =
      `The waiting jobs of this tenant cost ${Math.ceil(waitingMs / 1000)} engine seconds: it may fill ${percent} % of the ` +
      'longest wait (max_backlog_share).';
    return this.#penalize(
      keyId,
      message,
      { limit: percent, remaining: 0, resetS: JOB_SLOT_RETRY_S },
      PENALTY_MS,
    );
  }

  #budget(seconds: number): RateLimiterRedis {
    return limiterOf(
      this.#budgets,
      seconds,
      () =>
        new RateLimiterRedis({
          storeClient: this.#redis,
          keyPrefix: this.#keys.budget('').replace(/:$/, ''),
          points: budgetMs(seconds),
          duration: WINDOW_S,
          customIncrTtlLuaScript: CHARGE_LUA,
        }),
    );
  }

  #penalize(keyId: string, message: string, quota: Quota, ms: number): QuotaError {
    const until = this.#clock.monotonic() + Math.min(ms, PENALTY_MS);
    this.#penalties.set(keyId, { until, message, quota });
    return new QuotaError(message, quota);
  }
}

/** Points of a full budget: engine ms. */
export const budgetMs = (secondsPerMinute: number): number => Math.round(secondsPerMinute * 1000);

const budgetQuota = (seconds: number, { remainingPoints, msBeforeNext }: RateLimiterRes): Quota => ({
  limit: Math.max(1, Math.floor(seconds)),
  remaining: Math.floor(remainingPoints / 1000),
  resetS: Math.ceil(msBeforeNext / 1000),
  policy: { unit: 'engine seconds', windowS: WINDOW_S },
});

/** The value that the limiter rejects with, or undefined. */
const refusalOf = (consumed: Promise<unknown>): Promise<unknown> =>
  consumed.then(
    () => undefined,
    (refusal: unknown) => refusal,
  );

/** The limiter of this limit, created once. */
function limiterOf<Limiter>(all: Map<number, Limiter>, limit: number, make: () => Limiter): Limiter {
  let limiter = all.get(limit);
  if (!limiter) {
    if (all.size >= MAX_LIMITERS) all.clear();
    limiter = make();
    all.set(limit, limiter);
  }
  return limiter;
}

/**
 * The quotas of a key: requests and engine seconds per minute, and sign-ins to the studio. The only importer of rate-limiter-flexible.
 * Refused requests are not counted: Replicate's client retries a refusal six times within 15 ms and must not be punished for it.
 * After a refusal, further requests of the same key are refused for a second, before their body is read. Requests are counted in
 * the memory of each API process, engine seconds in Redis.
 */
import { hash } from 'node:crypto';
import { type Clock, LehrError, type TenantId } from '@lehr/shared';
import { type Admission, BUDGET_LUA, type PricedJob } from '@lehr/shared/queue';
import { defineScript, type Keys, type Redis, type Script } from '@lehr/shared/redis';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import type { Caller } from './auth/authenticator.ts';

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
/** Limiters of different limits that are kept; above this all are dropped, with what they have counted in this minute. */
const MAX_LIMITERS = 1000;

/** KEYS[1] the budget; ARGV[1] engine ms to give back, ARGV[2] those of a full budget. Admission charges it (queue/admit.lua). */
const REFUND_LUA = `${BUDGET_LUA}
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local full = tonumber(ARGV[2])
set_budget(KEYS[1], math.max(0, budget_used(KEYS[1], full, now) - ARGV[1]), full, now)`;

/** The name under which the Idempotency-Key of a tenant is stored; the key itself is not stored. */
export const idempotencyHash = (tenant: TenantId, key: string): string =>
  hash('sha256', `${tenant}\n${key}`, 'base64url');

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
  readonly #refund: Script;
  readonly #rates = new Map<number, RateLimiterMemory>();
  readonly #penalties = new Map<string, Penalty>();
  readonly #signIns = SIGN_INS.map((limit) => ({ ...limit, limiter: new RateLimiterMemory(limit) }));

  constructor(redis: Redis, keys: Keys, clock: Clock) {
    this.#redis = redis;
    this.#keys = keys;
    this.#clock = clock;
    this.#refund = defineScript(redis, 'lehrRefund', REFUND_LUA);
  }

  /**
   * Counts a request for a job in memory, before its body is read. Throws QuotaError. A refusal is repeated from memory, unless the request
   * may be a retry of one that made its job.
   */
  async admitRequest(caller: Caller, idempotencyKey: string | undefined): Promise<void> {
    const { keyId, tenant } = caller;
    const penalty = this.#penalties.get(keyId);
    if (penalty && penalty.until <= this.#clock.monotonic()) this.#penalties.delete(keyId);
    else if (penalty && !(await this.#isKnown(tenant, idempotencyKey)))
      throw new QuotaError(penalty.message, penalty.quota);
    await this.countRequest(caller);
  }

  /** As `admitRequest`, for what needs no room for a job at once. */
  async countRequest({ keyId, limits }: Caller): Promise<void> {
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

  /** What is left of the budget of the key after an admission; undefined for a key without one. */
  left({ limits: { cost_per_minute_s } }: Caller, { usedMs, fullInMs }: AdmittedCost): Quota | undefined {
    return cost_per_minute_s === null ? undefined : budgetQuota(cost_per_minute_s, usedMs, fullInMs);
  }

  /** The error for a key that has spent its budget; some of it is there after `forMs`. */
  spent({ keyId, limits: { cost_per_minute_s } }: Caller, forMs: number): QuotaError {
    const seconds = cost_per_minute_s ?? 0;
    const message = `This key may spend ${seconds} engine seconds per minute and has spent them.`;
    return this.#penalize(keyId, message, budgetQuota(seconds, budgetMs(seconds), forMs), forMs);
  }

  /** Returns the cost of a job that was admitted and is not made. */
  async refund(caller: Caller, costMs: number): Promise<void> {
    const { key, budget_ms } = payerOf(caller);
    if (budget_ms !== null) await this.#refund.run([this.#keys.budget(key)], [costMs, budget_ms]);
  }

  /** The error for a tenant that has `jobs` jobs, and may not have `more`, the nodes of a workflow or one job. */
  tooMany({ keyId, limits }: Caller, jobs: number, of: 'live' | 'queued', more: number): QuotaError {
    const limit = (of === 'live' ? limits.max_jobs : limits.max_queued) ?? jobs;
    const what = of === 'live' ? 'queued or running jobs' : 'queued jobs';
    const quota = { limit, remaining: 0, resetS: JOB_SLOT_RETRY_S };
    const needs = more > 1 ? `; this workflow needs ${more}` : '';
    const message = `This tenant may have ${limit} ${what} and has ${jobs}${needs}.`;
    // A smaller request is not kept waiting.
    return more > 1 ? new QuotaError(message, quota) : this.#penalize(keyId, message, quota, PENALTY_MS);
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

  async #isKnown(tenant: TenantId, idempotencyKey: string | undefined): Promise<boolean> {
    if (idempotencyKey === undefined) return false;
    const key = this.#keys.idempotency(idempotencyHash(tenant, idempotencyKey));
    return (await this.#redis.exists(key)) === 1;
  }

  #penalize(keyId: string, message: string, quota: Quota, ms: number): QuotaError {
    const until = this.#clock.monotonic() + Math.min(ms, PENALTY_MS);
    this.#penalties.set(keyId, { until, message, quota });
    return new QuotaError(message, quota);
  }
}

type AdmittedCost = Pick<Extract<Admission, { code: 'admitted' }>, 'usedMs' | 'fullInMs'>;

/** What pays for a job of the caller. */
export const payerOf = ({ keyId, limits }: Caller): NonNullable<PricedJob['payer']> => ({
  key: keyId,
  budget_ms: limits.cost_per_minute_s === null ? null : budgetMs(limits.cost_per_minute_s),
  weight: limits.weight,
});

/** Engine ms of a full budget. */
const budgetMs = (secondsPerMinute: number): number => Math.round(secondsPerMinute * 1000);

const budgetQuota = (seconds: number, usedMs: number, resetMs: number): Quota => ({
  limit: Math.max(1, Math.floor(seconds)),
  remaining: Math.floor(Math.max(0, budgetMs(seconds) - usedMs) / 1000),
  resetS: Math.ceil(resetMs / 1000),
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

export interface Quota {
  readonly limit: number;
  readonly remaining: number;
  /** Seconds until the quota is full again; for a refusal, until some of it is available. */
  readonly resetS: number;
  /** The unit that is counted and its window; absent for a limit without a window. */
  readonly policy?: { readonly unit: string; readonly windowS: number };
}

/** `rate-limited`, with the quota that is used up. */
export class QuotaError extends LehrError {
  readonly quota: Quota;

  constructor(message: string, quota: Quota) {
    super('rate-limited', message, { retryAfterS: jitteredRetryAfterS(quota.resetS) });
    this.quota = quota;
  }
}

/** draft-ietf-httpapi-ratelimit-headers-06. */
export function quotaHeaders({ limit, remaining, resetS, policy }: Quota): Record<string, string> {
  return {
    'ratelimit-limit': String(limit),
    'ratelimit-remaining': String(remaining),
    'ratelimit-reset': String(resetS),
    ...(policy && { 'ratelimit-policy': `${limit};w=${policy.windowS};comment="${policy.unit}"` }),
  };
}

/** Some clients ignore a Retry-After of more than a minute and retry at once. */
const MAX_RETRY_S = 60;
/** Requests that were refused together are not retried together. */
const JITTER = 1.25;

/** Whole seconds for Retry-After: `seconds` and up to a quarter more, at most 60. */
export function jitteredRetryAfterS(seconds: number): number {
  const least = Math.min(Math.max(Math.ceil(seconds), 1), MAX_RETRY_S / JITTER);
  return Math.min(MAX_RETRY_S, Math.floor(least + Math.random() * (1 + least * (JITTER - 1))));
}

/** Whole seconds for the Retry-After of a busy server: random from 1 to `seconds`, at most 60. */
export function randomRetryAfterS(seconds: number): number {
  return 1 + Math.floor(Math.random() * Math.min(Math.max(Math.ceil(seconds), 1), MAX_RETRY_S));
}

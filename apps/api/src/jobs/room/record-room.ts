/** Decides whether Redis has memory for one more job of a tenant. */
import { type Clock, LehrError, type TenantId } from '@lehr/shared';
import { FULL_SHARE, type Keys, type Redis, readMemory } from '@lehr/shared/redis';
import { QuotaError, randomRetryAfterS } from '../../access/quotas.ts';
import { Recent } from '../../base/recent.ts';
import { REMOVAL_SHARE } from './bound-records.ts';
import { fairBytes, measureRecords, type RecordBytes } from './record-bytes.ts';

/** From this share of maxmemory on, a tenant that holds more than its fair share may not add to it. */
const TENANT_SHARE = 0.75;
/** All requests of this time share one reading: short, because many large jobs may be stored in a second. */
const READING_TTL_MS = 200;
/** Memory becomes free when jobs end and records expire, which takes longer than a moment. */
const RETRY_AFTER_S = 30;
const BYTES_PER_MB = 1_000_000;

interface Reading {
  readonly share: number;
  /** What each tenant holds, and how much of it is fair; absent while there is room for everybody. */
  readonly held?: { readonly bytes: RecordBytes; readonly fair: number };
}

export class RecordRoom {
  readonly #reading: Recent<Reading | undefined>;

  constructor(redis: Redis, keys: Keys, clock: Clock) {
    this.#reading = new Recent(() => read(redis, keys), READING_TTL_MS, clock);
  }

  /** Throws `overloaded` when Redis is full for all, and QuotaError when it is for this tenant. */
  async check(tenant: TenantId): Promise<void> {
    const reading = await this.#reading.get();
    if (!reading) return;
    if (reading.share >= FULL_SHARE) throw full(reading.share);
    const { held } = reading;
    const bytes = held?.bytes.get(tenant) ?? 0;
    if (held && bytes > held.fair) throw aboveShare(bytes, held.fair);
  }
}

async function read(redis: Redis, keys: Keys): Promise<Reading | undefined> {
  const memory = await readMemory(redis);
  if (!memory) return undefined;
  const { share } = memory;
  if (share < TENANT_SHARE || share >= FULL_SHARE) return { share };
  const bytes = await measureRecords(redis, keys);
  return { share, held: { bytes, fair: fairBytes(bytes, memory, REMOVAL_SHARE) } };
}

/** Jobs that wait can only run, be cancelled or expire while Redis takes writes. */
const full = (share: number): LehrError =>
  new LehrError('overloaded', `The queue's memory is full (${Math.round(share * 100)} % of maxmemory).`, {
    retryAfterS: randomRetryAfterS(RETRY_AFTER_S),
  });

function aboveShare(bytes: number, fair: number): QuotaError {
  const limit = Math.floor(fair / BYTES_PER_MB);
  return new QuotaError(
    `The queue's memory is almost full, and the jobs of this tenant take ${Math.ceil(bytes / BYTES_PER_MB)} MB of it, where ` +
      `its share is ${limit} MB. Ended jobs are removed a minute after their end; DELETE /v1/jobs/{id} removes one at once.`,
    { limit, remaining: 0, resetS: RETRY_AFTER_S },
  );
}

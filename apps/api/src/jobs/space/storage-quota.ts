/**
 * How much a tenant may store and upload. It counts what callers send and Lehr stores, uploaded files, what is inside requests, and its
 * copies for retries, until it is deleted or expires. Outputs are not counted: the limits on jobs bound them.
 */
import { readFileSync } from 'node:fs';
import type { KeyLimits, ObjectKey, StorageUsage, TenantId } from '@lehr/shared';
import { defineScript, type Keys, type Redis, type Script } from '@lehr/shared/redis';
import type { Caller } from '../../access/auth/authenticator.ts';
import { QuotaError } from '../../access/quotas.ts';

const STORAGE_LUA = readFileSync(new URL('./storage-quota.lua', import.meta.url), 'utf8');
const BYTES_PER_MB = 1_000_000;
/** Uploads stop counting hour by hour. */
const HOUR_S = 3600;
const DAY_S = 24 * HOUR_S;
/** A guess: stored files are deleted or expire at any time. */
const STORED_RETRY_S = 60;
/** The record of a file, however small, is in the memory of Redis. */
const MIN_COUNTED_BYTES = 64_000;

export interface StorageQuotaOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  /** How long uploads are stored. */
  readonly ttlMs: number;
}

interface Reply {
  readonly code: 'ok' | 'stored' | 'uploaded';
  readonly stored: number;
  readonly uploaded: number;
}

export class StorageQuota {
  readonly #keys: Keys;
  readonly #ttlMs: number;
  readonly #script: Script;

  constructor({ redis, keys, ttlMs }: StorageQuotaOptions) {
    this.#keys = keys;
    this.#ttlMs = ttlMs;
    this.#script = defineScript(redis, 'lehrStorageQuota', STORAGE_LUA);
  }

  /** The bytes that the caller may send now, at most `wanted`. Throws QuotaError when it may send none, or not `stated` bytes. */
  async space({ tenant, limits }: Caller, wanted: number, stated = 1): Promise<number> {
    const { max_stored_mb, upload_mb_per_day } = limits;
    const { stored, uploaded } = await this.#run('read', tenant, limits);
    if (max_stored_mb !== null && stored + stated > max_stored_mb * BYTES_PER_MB) {
      throw refusal('stored', limits, { stored, uploaded }, stated);
    }
    if (upload_mb_per_day !== null && uploaded + stated > upload_mb_per_day * BYTES_PER_MB) {
      throw refusal('uploaded', limits, { stored, uploaded }, stated);
    }
    return Math.min(wanted, left(max_stored_mb, stored), left(upload_mb_per_day, uploaded));
  }

  /** Throws QuotaError when the caller may not store and upload all of these; takes no space. */
  async check(caller: Caller, sizes: readonly number[]): Promise<void> {
    const bytes = sizes.reduce((sum, size) => sum + Math.max(MIN_COUNTED_BYTES, size), 0);
    if (bytes > 0) await this.space(caller, bytes, bytes);
  }

  /** Stores an upload with `put`, which may reject, and counts it while it is stored. Throws QuotaError before it is stored. */
  async putCounted<T>(
    caller: Caller,
    key: ObjectKey,
    bytes: number,
    put: (key: ObjectKey) => Promise<T>,
  ): Promise<T> {
    await this.#take(caller, key, bytes);
    try {
      return await put(key);
    } catch (error) {
      await this.giveBack(caller.tenant, key);
      throw error;
    }
  }

  async #take({ tenant, limits }: Caller, key: ObjectKey, bytes: number): Promise<void> {
    const { code, ...usage } = await this.#run(
      'take',
      tenant,
      limits,
      key,
      Math.max(MIN_COUNTED_BYTES, bytes),
    );
    if (code !== 'ok') throw refusal(code, limits, usage, bytes);
  }

  /** For uploads that are deleted. An object that was not counted, or is freed already, changes nothing. */
  async free(tenant: TenantId, ...keys: readonly ObjectKey[]): Promise<void> {
    for (const key of keys) await this.#run('free', tenant, undefined, key);
  }

  /** For an upload that failed, or was part of a request that failed: it counts neither as stored nor as uploaded. */
  async giveBack(tenant: TenantId, key: ObjectKey): Promise<void> {
    await this.#run('give-back', tenant, undefined, key);
  }

  async usage(tenant: TenantId): Promise<StorageUsage> {
    const { stored, uploaded } = await this.#run('read', tenant);
    return { stored_mb: megabytes(stored), uploaded_mb: megabytes(uploaded) };
  }

  async #run(
    command: 'read' | 'take' | 'free' | 'give-back',
    tenant: TenantId,
    limits?: KeyLimits,
    key = '',
    bytes = 0,
  ): Promise<Reply> {
    const most = (mb: number | null | undefined): number | '' => (mb == null ? '' : mb * BYTES_PER_MB);
    const [code, stored, uploaded] = (await this.#script.run(
      [this.#keys.stored(tenant), this.#keys.storedBytes(tenant), this.#keys.storage(tenant)],
      [command, bytes, key, this.#ttlMs, most(limits?.max_stored_mb), most(limits?.upload_mb_per_day)],
    )) as [Reply['code'], number, number];
    return { code, stored, uploaded };
  }
}

const left = (mb: number | null, used: number): number =>
  mb === null ? Number.POSITIVE_INFINITY : Math.max(0, mb * BYTES_PER_MB - used);
const megabytes = (bytes: number): number => Math.ceil(bytes / 1000) / 1000;

function refusal(
  limit: 'stored' | 'uploaded',
  { max_stored_mb, upload_mb_per_day }: KeyLimits,
  usage: Pick<Reply, 'stored' | 'uploaded'>,
  bytes: number,
): QuotaError {
  const most = (limit === 'stored' ? max_stored_mb : upload_mb_per_day) ?? 0;
  const used = megabytes(usage[limit]);
  const quota = { limit: most, remaining: Math.floor(Math.max(0, most - used)) };
  const what =
    limit === 'stored'
      ? `This tenant may store ${most} MB of uploads (max_stored_mb) and stores ${used}`
      : `This tenant may upload ${most} MB in 24 hours (upload_mb_per_day) and has uploaded ${used}`;
  return new QuotaError(`${what}; this one has ${megabytes(bytes)} MB.`, {
    ...quota,
    ...(limit === 'stored'
      ? { resetS: STORED_RETRY_S }
      : { resetS: HOUR_S, policy: { unit: 'uploaded MB', windowS: DAY_S } }),
  });
}

/** Bounds the large answers that are written and wait in memory for callers that read them slowly. */
import { LehrError, type TenantId } from '@lehr/shared';

export interface UnsentLimits {
  /** Bytes of one tenant above which its next large answer is refused. */
  readonly ofTenant: number;
  /** Bytes of all tenants above which every large answer is refused. */
  readonly total: number;
}

const MIB = 1024 * 1024;
/** One answer may have 42 MB, and is written as long as the bytes before it are below these. */
export const UNSENT_LIMITS: UnsentLimits = { ofTenant: 64 * MIB, total: 256 * MIB };

const RETRY_AFTER_S = 2;

export class UnsentAnswers {
  readonly #limits: UnsentLimits;
  readonly #bytes = new Map<TenantId, number>();
  #total = 0;

  constructor(limits: UnsentLimits) {
    this.#limits = limits;
  }

  /** Throws `overloaded` when the unsent answers, of this tenant or of all, have reached their limit. */
  check(tenant: TenantId): void {
    const own = this.#bytes.get(tenant) ?? 0;
    if (own < this.#limits.ofTenant && this.#total < this.#limits.total) return;
    const whose = own < this.#limits.ofTenant ? 'of all tenants' : 'of this tenant';
    throw new LehrError('overloaded', `Too many large answers ${whose} wait until their callers read them.`, {
      retryAfterS: RETRY_AFTER_S,
    });
  }

  /** Counts an answer until the function that it returns is called. */
  add(tenant: TenantId, bytes: number): () => void {
    this.#count(tenant, bytes);
    return () => this.#count(tenant, -bytes);
  }

  #count(tenant: TenantId, bytes: number): void {
    const own = (this.#bytes.get(tenant) ?? 0) + bytes;
    if (own > 0) this.#bytes.set(tenant, own);
    else this.#bytes.delete(tenant);
    this.#total += bytes;
  }
}

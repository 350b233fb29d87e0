/** Maps the key of a request to its caller and rights. */
import type { KeyLimits, Scope, TenantId } from '@lehr/shared';

export interface Caller {
  /** Jobs are looked up by tenant and id, so no tenant sees the jobs of another one. */
  readonly tenant: TenantId;
  /** Budgets and idempotency keys are separate for each key. */
  readonly keyId: string;
  readonly scopes: ReadonlySet<Scope>;
  readonly limits: KeyLimits;
}

export interface Authenticator {
  /** The caller with this key; undefined for an unknown key. */
  authenticate(key: string): Promise<Caller | undefined>;
}

/** Tries each in order. */
export function anyOf(...authenticators: readonly Authenticator[]): Authenticator {
  return {
    authenticate: async (key) => {
      for (const each of authenticators) {
        const caller = await each.authenticate(key);
        if (caller) return caller;
      }
      return undefined;
    },
  };
}

/** Who is calling, and what that key may do. */
import type { KeyLimits, Scope, TenantId } from '@lehr/shared';

export interface Caller {
  /** Jobs are read and changed by (tenant, id); nobody sees another tenant's. */
  readonly tenant: TenantId;
  /** Of the key: what it spends and repeats is counted for itself. */
  readonly keyId: string;
  readonly scopes: ReadonlySet<Scope>;
  readonly limits: KeyLimits;
}

export interface Authenticator {
  /** The caller that this key stands for; undefined for a key nobody has. */
  authenticate(key: string): Promise<Caller | undefined>;
}

/** Asks each in turn. */
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

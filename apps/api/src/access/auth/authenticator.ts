/** Maps the key of a request to its caller and rights. */
import type { KeyLimits, Scope, TenantId } from '@lehr/shared';

export interface Caller {
  /** Jobs are looked up by tenant and id, so no tenant sees the jobs of another one. */
  readonly tenant: TenantId;
  /** Budgets are separate for each key. */
  readonly keyId: string;
  readonly scopes: ReadonlySet<Scope>;
  readonly limits: KeyLimits;
  /** The digest of the session that the request came with; absent for a key. */
  readonly session?: string;
}

export interface Authenticator {
  /** The caller with this key; undefined for an unknown key. */
  authenticate(key: string): Promise<Caller | undefined>;
  /** The caller with this key id, while its key is valid. */
  find(keyId: string): Promise<Caller | undefined>;
}

/** Tries each in order. */
export function anyOf(...authenticators: readonly Authenticator[]): Authenticator {
  const first = async (
    ask: (each: Authenticator) => Promise<Caller | undefined>,
  ): Promise<Caller | undefined> => {
    for (const each of authenticators) {
      const caller = await ask(each);
      if (caller) return caller;
    }
    return undefined;
  };
  return {
    authenticate: (key) => first((each) => each.authenticate(key)),
    find: (keyId) => first((each) => each.find(keyId)),
  };
}

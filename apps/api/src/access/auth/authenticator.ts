/** Maps the key of a request to its caller and rights: the configured key here, those in Redis in stored-keys.ts. */
import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import {
  DEFAULT_LIMITS,
  DEFAULT_TENANT,
  type KeyLimits,
  SCOPES,
  type Scope,
  type TenantId,
} from '@lehr/shared';

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

const BEARER = /^Bearer +([\x21-\x7e]+) *$/i;
const BASIC = /^Basic +([A-Za-z0-9+/]+={0,2}) *$/i;

/** The key of an Authorization header; undefined when it has none. */
export const bearerKey = (authorization: string | undefined): string | undefined =>
  authorization === undefined ? undefined : BEARER.exec(authorization)?.[1];

/** The key of Basic authorization: the password, or the user name when the password is empty. */
export function basicKey(authorization: string): string | undefined {
  const pair = BASIC.exec(authorization)?.[1];
  if (pair === undefined) return undefined;
  const [, user = '', password = ''] =
    /^([^:]*):(.*)$/s.exec(Buffer.from(pair, 'base64').toString('latin1')) ?? [];
  return bearerKey(`Bearer ${password === '' ? user : password}`);
}

/**
 * Accepts the configured key (LEHR_API_KEY), which has all rights and no limits but its weight. It compares digests with a
 * random pepper, so that the time of a comparison reveals nothing.
 */
export function configuredKey(apiKey: string): Authenticator {
  const pepper = randomBytes(32).toString('base64');
  const digest = (key: string): Buffer => hash('sha256', pepper + key, 'buffer');
  const wanted = digest(apiKey);
  const caller: Caller = {
    tenant: DEFAULT_TENANT,
    keyId: 'root',
    scopes: new Set(SCOPES),
    limits: {
      ...DEFAULT_LIMITS,
      max_jobs: null,
      max_streams: null,
      max_backlog_share: null,
      max_stored_mb: null,
      upload_mb_per_day: null,
      max_batches: null,
    },
  };
  return {
    authenticate: async (key) => (timingSafeEqual(digest(key), wanted) ? caller : undefined),
    find: async (keyId) => (keyId === caller.keyId ? caller : undefined),
  };
}

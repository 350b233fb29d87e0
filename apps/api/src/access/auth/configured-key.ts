import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { DEFAULT_LIMITS, DEFAULT_TENANT, SCOPES } from '@lehr/shared';
import type { Authenticator, Caller } from './authenticator.ts';

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
    },
  };
  return {
    authenticate: async (key) => (timingSafeEqual(digest(key), wanted) ? caller : undefined),
    find: async (keyId) => (keyId === caller.keyId ? caller : undefined),
  };
}

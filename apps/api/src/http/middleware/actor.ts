/** Who made a request, for the audit log. */
import type { Context } from 'hono';
import type { Actor } from '../../access/audit/audit-log.ts';
import type { ApiEnv } from './api-env.ts';

/** Requests without a known key have no caller. */
export const actorOf = (c: Context<ApiEnv>): Actor => ({
  keyId: c.get('caller')?.keyId ?? null,
  address: c.get('address') ?? null,
});

/** Who made a request, for the audit log. */
import type { HttpBindings } from '@hono/node-server';
import type { Context } from 'hono';
import type { Actor } from '../audit/audit-log.ts';
import type { ApiEnv } from './api-env.ts';

/** An IPv4 address of a socket that also takes IPv6. */
const MAPPED = /^::ffff:(?=\d+\.)/;

/** Requests without a known key have no caller. */
export const actorOf = (c: Context<ApiEnv>): Actor => ({
  keyId: c.get('caller')?.keyId ?? null,
  address: addressOf(c),
});

/** The address of the connection: of a proxy, where there is one. */
function addressOf(c: Context<ApiEnv>): string | null {
  const { incoming } = (c.env ?? {}) as Partial<HttpBindings>;
  return incoming?.socket.remoteAddress?.replace(MAPPED, '') ?? null;
}

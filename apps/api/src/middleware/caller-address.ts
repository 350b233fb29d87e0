/** The address of the caller: of the connection, or behind a trusted proxy the one that the proxy reports. */
import { isIP } from 'node:net';
import type { HttpBindings } from '@hono/node-server';
import type { MiddlewareHandler } from 'hono';
import proxyAddress from 'proxy-addr';
import type { ApiEnv } from './api-env.ts';

/** An IPv4 address of a socket that also takes IPv6. */
const MAPPED = /^::ffff:(?=\d+\.)/;

/**
 * Sets `address`. X-Forwarded-For is read only as far as its entries come from `trustedProxies` (addresses and ranges): what a
 * caller writes into the header itself has no effect.
 */
export function findCallerAddress(trustedProxies: readonly string[]): MiddlewareHandler<ApiEnv> {
  const isTrusted = proxyAddress.compile([...trustedProxies]);
  return async function findCallerAddress(c, next) {
    const { incoming } = (c.env ?? {}) as Partial<HttpBindings>;
    const connection = incoming?.socket.remoteAddress;
    if (incoming && connection !== undefined) {
      const reported = proxyAddress(incoming, isTrusted);
      c.set('address', (isIP(reported) > 0 ? reported : connection).replace(MAPPED, ''));
    }
    await next();
  };
}

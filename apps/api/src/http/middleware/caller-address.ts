/** The address of the caller: of the connection, or behind a trusted proxy the one that the proxy reports. */
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import type { MiddlewareHandler } from 'hono';
import proxyAddress from 'proxy-addr';
import type { ApiEnv } from './api-env.ts';

/** An IPv4 address of a socket that also takes IPv6. */
const MAPPED = /^::ffff:(?=\d+\.)/;

/**
 * X-Forwarded-For is read only as far as its entries come from `trustedProxies` (addresses and ranges): what a caller writes into
 * the header itself has no effect. Undefined when the connection has ended.
 */
export function callerAddress(
  trustedProxies: readonly string[],
): (incoming: IncomingMessage) => string | undefined {
  const isTrusted = proxyAddress.compile([...trustedProxies]);
  return (incoming) => {
    const connection = incoming.socket.remoteAddress;
    if (connection === undefined) return undefined;
    if (incoming.headers['x-forwarded-for'] === undefined) return plainAddress(connection);
    const reported = proxyAddress(incoming, isTrusted);
    return plainAddress(isIP(reported) > 0 ? reported : connection);
  };
}

/** An IPv4 address in its usual form. */
export const plainAddress = (address: string): string => address.replace(MAPPED, '');

/** Whether a connection from this address is one of the trusted proxies. */
export function isTrustedProxy(trustedProxies: readonly string[]): (address: string) => boolean {
  const isTrusted = proxyAddress.compile([...trustedProxies]);
  return (address) => isTrusted(address, 0);
}

/** Sets `address`. */
export function findCallerAddress(trustedProxies: readonly string[]): MiddlewareHandler<ApiEnv> {
  const addressOf = callerAddress(trustedProxies);
  return function findCallerAddress(c, next) {
    const incoming = c.env?.incoming;
    const address = incoming && addressOf(incoming);
    if (address !== undefined) c.set('address', address);
    return next();
  };
}

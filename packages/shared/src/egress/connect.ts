/** Sends one HTTP request over a connection that can only go to the checked addresses. */
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import type { Target } from './guard.ts';

export interface Outgoing {
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
}

const MAX_HEADER_BYTES = 16 * 1024;

/**
 * Resolves with the head of the answer. Follows no redirect, uses no proxy and keeps no connection, so that every request is
 * checked. The Host header and the TLS name are those of the URL.
 */
export function send(
  { url, host }: Target,
  addresses: readonly string[],
  { method, headers, body }: Outgoing,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const isTls = url.protocol === 'https:';
  return new Promise((resolve, reject) => {
    const request: ClientRequest = (isTls ? httpsRequest : httpRequest)({
      protocol: url.protocol,
      hostname: host,
      port: url.port === '' ? (isTls ? 443 : 80) : Number(url.port),
      path: `${url.pathname}${url.search}`,
      method,
      headers: { ...headers, host: url.host, ...(body && { 'content-length': body.byteLength }) },
      agent: false,
      lookup: pinned(addresses),
      maxHeaderSize: MAX_HEADER_BYTES,
      rejectUnauthorized: true,
      signal,
    });
    request.once('response', resolve);
    // This listener stays: an abort while the body is read is also an error of the request.
    request.on('error', reject);
    request.once('close', () => reject(new Error('closed without an answer')));
    request.end(body);
  });
}

/** Answers every DNS lookup of a connection with the checked addresses, so that the name is not resolved a second time. */
function pinned(addresses: readonly string[]): LookupFunction {
  const all = addresses.map((address) => ({ address, family: isIP(address) }));
  return (_host, options, callback) => {
    if (options.all) callback(null, all);
    else callback(null, all[0].address, all[0].family);
  };
}

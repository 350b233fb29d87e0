/** One HTTP request over a connection that can only go to addresses that were checked. */
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
 * Resolves with the answer's head. No redirect is followed, no proxy asked, no connection kept: the next request is checked
 * anew. `host` and the name in TLS stay those of the URL.
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
    // Stays on: an abort while the body is read is an error of the request, too.
    request.on('error', reject);
    request.once('close', () => reject(new Error('closed without an answer')));
    request.end(body);
  });
}

/** Answers every look-up of a connection with the checked addresses: nobody is asked a second time. */
function pinned(addresses: readonly string[]): LookupFunction {
  const all = addresses.map((address) => ({ address, family: isIP(address) }));
  return (_host, options, callback) => {
    if (options.all) callback(null, all);
    else callback(null, all[0].address, all[0].family);
  };
}

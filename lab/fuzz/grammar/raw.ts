/** Bytes that are no proper HTTP: broken heads, wrong lengths, requests in a row on one connection, half-sent requests. */
import fc from 'fast-check';
import type { FuzzRequest, Piece } from '../request.ts';
import { BEARER, headOf, JSON_TYPE, text } from './pieces.ts';

const JOB = '{"type":"text-to-image","input":{"prompt":"x"}}';

const LINES = [
  'GET /v1/jobs HTTP/1.1',
  'POST /v1/jobs HTTP/1.1',
  'POST /v1/files HTTP/1.1',
  'POST /t2i HTTP/1.0',
  'GET /healthz HTTP/0.9',
  'GET /healthz',
  'GET  /healthz HTTP/1.1',
  'get /healthz http/1.1',
  'GET http://169.254.169.254/ HTTP/1.1',
  'GET //evil.example/%2e%2e/v1/jobs HTTP/1.1',
  'GET /v1/jobs?limit=%zz&limit=\u00ff HTTP/1.1',
  'GET /objects/..%2f..%2fetc%2fpasswd HTTP/1.1',
  'GET /%00%ff%c0%af HTTP/1.1',
  'CONNECT 127.0.0.1:6379 HTTP/1.1',
  'OPTIONS * HTTP/1.1',
  'HEAD /v1/jobs HTTP/1.1',
  'TRACE /v1/jobs HTTP/1.1',
  'PRI * HTTP/2.0',
  'X'.repeat(300),
  '\u0016\u0003\u0001\u0002\u0000\u0001',
];

const HEADERS = [
  'host: lehr',
  BEARER,
  'authorization: Bearer',
  'authorization: Basic YTpi',
  JSON_TYPE,
  'connection: close',
  'connection: upgrade',
  'upgrade: websocket',
  'upgrade: h2c',
  'expect: 100-continue',
  'expect: 200-ok',
  'content-length: 0',
  'content-length: -1',
  'content-length: 47',
  'content-length: 999999999999999999999',
  'content-length: 47, 47',
  'content-length: 0x2f',
  'transfer-encoding: chunked',
  'transfer-encoding: chunked, identity',
  'transfer-encoding: gzip, chunked',
  'transfer-encoding : chunked',
  'content-encoding: gzip',
  'x-forwarded-for: 127.0.0.1',
  'x-request-id: \u0001',
  ' folded: line',
  'no colon',
  ': no name',
  'x-nul: a\0b',
  'cookie: a=b; a=c',
  'range: bytes=0-0,1-1,5-2',
  'prefer: wait=1, wait=x, respond-async',
];

const BODIES = [
  '',
  JOB,
  '5\r\nhello\r\n0\r\n\r\n',
  '5;ext=1\r\nhello\r\n0\r\ntrailer: x\r\n\r\n',
  'ffffffffffffffff\r\nhello',
  '-1\r\n',
  'zz\r\n',
  '0\r\n\r\nGET /v1/jobs HTTP/1.1\r\n\r\n',
  '1f8b0800',
];

const broken: fc.Arbitrary<FuzzRequest> = fc
  .record({
    line: fc.constantFrom(...LINES),
    headers: fc.array(fc.constantFrom(...HEADERS), { maxLength: 8 }),
    padding: fc.oneof(
      { weight: 6, arbitrary: fc.constant(0) },
      { weight: 1, arbitrary: fc.integer({ min: 1, max: 3000 }) },
    ),
    separator: fc.constantFrom('\r\n', '\r\n', '\r\n', '\n', '\r'),
    body: fc.constantFrom(...BODIES),
    writes: fc.constantFrom(1, 1, 7),
    end: fc.constantFrom('close' as const, 'close' as const, 'reset' as const, 'open' as const),
  })
  .map(({ line, headers, padding, separator, body, writes, end }) => {
    const pads = Array.from({ length: padding }, (_, i) => `x-${i}: 1`);
    const head = [line, ...headers, ...pads].join(separator);
    return { kind: 'raw', head, body: [text(body)], framing: 'none', writes, end };
  });

/** Valid requests in a row; the last one asks for the end of the connection. */
const pipelined: fc.Arbitrary<FuzzRequest> = fc
  .record({
    targets: fc.array(
      fc.constantFrom('/healthz', '/v1/models', '/v1/jobs?limit=1', '/nowhere', '/v1/queues'),
      {
        minLength: 1,
        maxLength: 40,
      },
    ),
    end: fc.constantFrom('wait' as const, 'wait' as const, 'reset' as const),
  })
  .map(({ targets, end }) => {
    const rows = targets.map((target) => `GET ${target} HTTP/1.1\r\nhost: lehr\r\n${BEARER}\r\n\r\n`);
    const body: Piece[] = [text(`${headOf('GET', '/healthz', [])}\r\n\r\n`)];
    const head = `${rows.join('')}POST /v1/jobs HTTP/1.1\r\nhost: lehr\r\n${BEARER}\r\n${JSON_TYPE}\r\ncontent-length: ${JOB.length}`;
    return { kind: 'pipelined', head, body: [text(JOB), ...body], framing: 'none', end };
  });

const bytes: fc.Arbitrary<FuzzRequest> = fc.uint8Array({ maxLength: 300 }).map((value) => ({
  kind: 'raw',
  head: Buffer.from(value).toString('latin1'),
  body: [],
  framing: 'none',
  end: 'close',
}));

export const rawRequest: fc.Arbitrary<FuzzRequest> = fc.oneof(
  { weight: 4, arbitrary: broken },
  { weight: 1, arbitrary: pipelined },
  { weight: 1, arbitrary: bytes },
);

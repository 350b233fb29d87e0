/** What all parts of the grammar share: heads of requests, and how a request is sent. */
import fc from 'fast-check';
import type { FuzzRequest, Piece } from '../request.ts';

export const JSON_TYPE = 'content-type: application/json';
export const BEARER = 'authorization: Bearer __key__';

/** The server ends the connection after its answer, so that the end of the answer is seen. */
export const headOf = (method: string, target: string, headers: readonly string[]): string =>
  [`${method} ${target} HTTP/1.1`, 'host: lehr', 'connection: close', ...headers].join('\r\n');

export const text = (value: string, times = 1): Piece =>
  times === 1 ? { text: value } : { text: value, times };

/** Mostly whole requests that wait for their answer; some break off, are slow to arrive, or are left by their caller. */
export const delivery: fc.Arbitrary<Pick<FuzzRequest, 'framing' | 'sent' | 'writes' | 'end'>> = fc.oneof(
  { weight: 6, arbitrary: fc.constant({ framing: 'length', end: 'wait' } as const) },
  { weight: 2, arbitrary: fc.constant({ framing: 'chunked', end: 'wait' } as const) },
  {
    weight: 2,
    arbitrary: fc.record({
      framing: fc.constantFrom('length' as const, 'chunked' as const),
      writes: fc.integer({ min: 2, max: 20 }),
      end: fc.constantFrom('wait' as const, 'close' as const),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      framing: fc.constantFrom('length' as const, 'chunked' as const),
      sent: fc.double({ min: 0, max: 0.99, noNaN: true }),
      end: fc.constantFrom('close' as const, 'reset' as const, 'open' as const),
    }),
  },
);

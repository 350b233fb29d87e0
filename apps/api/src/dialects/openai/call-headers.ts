/** Request headers of OpenAI's clients. The client for Python names its timeout in another header than the one for JavaScript. */
import { z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import type { ApiEnv } from '../../http/middleware/api-env.ts';
import { requestRefusal } from '../../http/middleware/validation.ts';
import { IDEMPOTENCY_HEADER } from '../../jobs/requests/call-headers.ts';
import type { ApiParts } from '../../parts.ts';

export const CALL_HEADERS = z.object({
  ...IDEMPOTENCY_HEADER,
  'x-stainless-retry-count': z.string().optional().meta({
    description:
      'Above 0, the call is a retry: it takes over the job of the earlier call, if that one was not answered.',
  }),
  'x-stainless-timeout': z.string().optional().meta({
    description: 'Seconds after which the client gives up; the call is held for one second less.',
  }),
  'x-stainless-read-timeout': z.string().optional().meta({
    description: 'The same for the client for Python. With both headers, the shorter timeout counts.',
  }),
});
export type CallHeaders = z.output<typeof CALL_HEADERS>;

/** Of a route without a validator. */
export function callHeadersOf(c: Context<ApiEnv>): CallHeaders {
  const parsed = CALL_HEADERS.safeParse(c.req.header());
  if (parsed.success) return parsed.data;
  throw requestRefusal(parsed.error);
}

export const repeatOf = (headers: CallHeaders): { idempotencyKey: string | undefined; isRetry: boolean } => ({
  idempotencyKey: headers['idempotency-key'],
  isRetry: Number(headers['x-stainless-retry-count']) > 0,
});

const MIN_HOLD_MS = 100;

/** How long this call may be held. */
export function holdMsOf({ holdMs }: Pick<ApiParts, 'holdMs'>, headers: CallHeaders): number {
  const timeouts = [headers['x-stainless-timeout'], headers['x-stainless-read-timeout']].map(Number);
  const clientMs = (Math.min(...timeouts.filter((seconds) => !Number.isNaN(seconds))) - 1) * 1000;
  return Math.min(holdMs, Math.max(MIN_HOLD_MS, clientMs));
}

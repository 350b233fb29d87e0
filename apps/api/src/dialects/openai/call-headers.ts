/** Request headers of OpenAI's clients. */
import { z } from '@hono/zod-openapi';
import type { ApiParts } from '../../api.ts';
import { IDEMPOTENCY_HEADER } from '../../calls/call-headers.ts';

export const CALL_HEADERS = z.object({
  ...IDEMPOTENCY_HEADER,
  'x-stainless-retry-count': z.string().optional().meta({
    description:
      'Above 0, the call is a retry: it takes over the job of the earlier call, if that one was not answered.',
  }),
  'x-stainless-timeout': z.string().optional().meta({
    description: 'Seconds after which the client gives up; the call is held for one second less.',
  }),
});
export type CallHeaders = z.output<typeof CALL_HEADERS>;

export const repeatOf = (headers: CallHeaders): { idempotencyKey: string | undefined; isRetry: boolean } => ({
  idempotencyKey: headers['idempotency-key'],
  isRetry: Number(headers['x-stainless-retry-count']) > 0,
});

const MIN_HOLD_MS = 100;

/** How long this call may be held. */
export function holdMsOf({ holdMs }: Pick<ApiParts, 'holdMs'>, headers: CallHeaders): number {
  const clientMs = (Number(headers['x-stainless-timeout']) - 1) * 1000;
  return Number.isNaN(clientMs) ? holdMs : Math.min(holdMs, Math.max(MIN_HOLD_MS, clientMs));
}

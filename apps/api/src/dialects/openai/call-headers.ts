/** Headers of the calls that OpenAI's clients hold. */
import { z } from '@hono/zod-openapi';
import type { ApiParts } from '../../api.ts';
import { IDEMPOTENCY_HEADER } from '../../calls/call-headers.ts';

export const CALL_HEADERS = z.object({
  ...IDEMPOTENCY_HEADER,
  'x-stainless-retry-count': z.string().optional().meta({
    description: 'Above 0: the call was made before, and takes the job of that one if it was not answered.',
  }),
  'x-stainless-timeout': z.string().optional().meta({
    description: 'Seconds after which the client gives up; the answer is held for a second less.',
  }),
});
export type CallHeaders = z.output<typeof CALL_HEADERS>;

export const askedAgain = (
  headers: CallHeaders,
): { idempotencyKey: string | undefined; isRetry: boolean } => ({
  idempotencyKey: headers['idempotency-key'],
  isRetry: Number(headers['x-stainless-retry-count']) > 0,
});

const LEAST_MS = 100;

/** How long this call may be held. */
export function holdMsOf({ holdMs }: Pick<ApiParts, 'holdMs'>, headers: CallHeaders): number {
  const patienceMs = (Number(headers['x-stainless-timeout']) - 1) * 1000;
  return Number.isNaN(patienceMs) ? holdMs : Math.min(holdMs, Math.max(LEAST_MS, patienceMs));
}

/** Request headers that several dialects share. */
import { z } from '@hono/zod-openapi';

/** For the headers of every route that makes jobs. */
export const IDEMPOTENCY_HEADER = {
  'idempotency-key': z.string().min(1).max(255).optional().meta({
    description:
      'Of your choice, new for every job: the same request sent again with it within 24 hours gets the same job.',
  }),
};

/** The longest wait that a request may have. */
export const MAX_WAIT_S = 60;

/** `Prefer: wait=10`; `wait` alone stands for the longest wait (RFC 7240). Undefined without a wait. */
export function preferredWaitS(prefer: string | undefined): number | undefined {
  for (const preference of prefer?.split(/[,;]/) ?? []) {
    const [, seconds] = /^\s*wait\s*(?:=\s*"?(\d{1,9})"?\s*)?$/i.exec(preference) ?? [null, null];
    if (seconds === null) continue;
    return seconds === undefined ? MAX_WAIT_S : Math.min(Math.max(Number(seconds), 1), MAX_WAIT_S);
  }
  return undefined;
}

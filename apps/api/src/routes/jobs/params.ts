/** What the job routes take in their paths, queries and headers. */
import { z } from '@hono/zod-openapi';

export const MAX_WAIT_S = 60;

export const IdParams = z.object({
  id: z.string().meta({ description: "The job's id.", example: 'job_01jd3v9s6w0000000000000000' }),
});

export const WaitQuery = z.strictObject({
  wait: z.coerce.number().min(0).max(MAX_WAIT_S).default(0).meta({
    description: 'Seconds to hold the answer, at most 60, until the job is over.',
    example: 30,
  }),
});

/** `Prefer: wait=10`, or `wait` alone for as long as may be (RFC 7240). Undefined when it asks for no wait. */
export function preferredWaitS(prefer: string | undefined): number | undefined {
  for (const preference of prefer?.split(/[,;]/) ?? []) {
    const [, seconds] = /^\s*wait\s*(?:=\s*"?(\d{1,9})"?\s*)?$/i.exec(preference) ?? [null, null];
    if (seconds === null) continue;
    return seconds === undefined ? MAX_WAIT_S : Math.min(Math.max(Number(seconds), 1), MAX_WAIT_S);
  }
  return undefined;
}

/** Path and query parameters of the job routes. */
import { z } from '@hono/zod-openapi';
import { MAX_WAIT_S } from '../../jobs/requests/call-headers.ts';
import { queryNumber } from '../query-number.ts';

export const IdParams = z.object({
  id: z.string().meta({ description: 'The id of the job.', example: 'job_01jd3v9s6w0000000000000000' }),
});

export const WaitQuery = z.strictObject({
  wait: queryNumber(z.coerce.number().min(0).max(MAX_WAIT_S).default(0)).meta({
    description: 'Seconds to hold the response, at most 60, until the job has ended.',
    example: 30,
  }),
});

/** The parameters that several routes read. */
import { z } from '@hono/zod-openapi';
import { MAX_WAIT_S } from '../jobs/requests/call-headers.ts';

export const IdParams = z.object({
  id: z.string().meta({ description: 'The id of the job.', example: 'job_01jd3v9s6w0000000000000000' }),
});

/** Refuses a value without a digit, such as an empty one, which `Number` reads as 0. */
export const queryNumber = <Schema extends z.ZodType>(schema: Schema) =>
  z.preprocess((value) => (typeof value === 'string' && !/\d/.test(value) ? Number.NaN : value), schema);

export const WaitQuery = z.strictObject({
  wait: queryNumber(z.coerce.number().min(0).max(MAX_WAIT_S).default(0)).meta({
    description: 'Seconds to hold the response, at most 60, until the job has ended.',
    example: 30,
  }),
});

/** Errors of the native API: RFC 9457 problem details, the same schema on every route. */
import { z } from 'zod';
import type { LehrError } from '../base/errors.ts';

export const PROBLEM_MEDIA_TYPE = 'application/problem+json';

export const ProblemSchema = z
  .object({
    type: z.string().meta({ example: 'urn:lehr:problem:invalid-input' }),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    instance: z.string().meta({ description: 'The id of the request, as in `x-request-id`.' }),
    errors: z.array(z.object({ pointer: z.string(), detail: z.string() })).optional(),
  })
  .meta({ id: 'Problem' });
export type Problem = z.output<typeof ProblemSchema>;

export function toProblem(error: LehrError, requestId: string): Problem {
  return {
    type: `urn:lehr:problem:${error.code}`,
    title: error.title,
    status: error.status,
    detail: error.message,
    instance: requestId,
    ...(error.problems.length > 0 && {
      errors: error.problems.map(({ pointer, detail }) => ({ pointer, detail })),
    }),
  };
}

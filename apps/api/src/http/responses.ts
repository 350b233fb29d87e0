/** Parts of route definitions: the key that a route requires, and the problem responses it can have. */
import { ERROR_CODES, type ErrorCode, PROBLEM_MEDIA_TYPE, ProblemSchema } from '@lehr/shared';

export const BEARER = [{ bearer: [] }];
/** A key, as a bearer or as the password of Basic authorization. */
export const BEARER_OR_BASIC: Record<string, string[]>[] = [...BEARER, { basic: [] }];

/** Every route under /v1 can respond with these: the shape of a JSON body is checked also where none is taken. */
const ALWAYS: readonly ErrorCode[] = [
  'invalid-request',
  'unauthenticated',
  'forbidden',
  'internal',
  'unavailable',
];

interface ProblemResponse {
  description: string;
  content: Record<string, { schema: typeof ProblemSchema }>;
}

/**
 * Problem responses by status, for the OpenAPI document. They are thrown and never returned, so no handler's type has them:
 * hence `never`.
 */
export function problems(...codes: readonly ErrorCode[]): Record<never, ProblemResponse> {
  const responses: Record<number, ProblemResponse> = {};
  for (const code of new Set(codes)) {
    const { status, title } = ERROR_CODES[code];
    const known = responses[status]?.description;
    responses[status] = {
      description: known ? `${known}, ${title} (\`${code}\`)` : `${title} (\`${code}\`)`,
      content: { [PROBLEM_MEDIA_TYPE]: { schema: ProblemSchema } },
    };
  }
  return responses;
}

/** Every route that reads a body can respond with these too. */
const OF_BODIES: readonly ErrorCode[] = ['too-slow', 'overloaded'];

export function problemsWithKey(...codes: readonly ErrorCode[]): Record<never, ProblemResponse> {
  const readsBody = codes.includes('unsupported-media');
  const more = readsBody ? OF_BODIES.filter((code) => !codes.includes(code)) : [];
  return problems(...codes, ...more, ...ALWAYS);
}

/** Errors as OpenAI's clients read them: `{"error": {message, type, param, code}}`. */
import { ERROR_CODES, type ErrorCode, type LehrError } from '@lehr/shared';
import { z } from 'zod';
import { type JobEnd, JobEndedError } from '../../jobs/requests/hold.ts';

export const OpenAiErrorSchema = z
  .object({
    error: z.object({
      message: z.string(),
      type: z.string(),
      param: z.string().nullable().meta({ description: 'The field with the error.' }),
      code: z.string().nullable(),
      job_id: z.string().optional().meta({ description: 'The job of the call, if one was made.' }),
    }),
  })
  .meta({ id: 'OpenAiError' });

export interface OpenAiRefusal {
  readonly status: number;
  readonly body: z.output<typeof OpenAiErrorSchema>;
  readonly headers: Readonly<Record<string, string>>;
}

interface Facts {
  readonly status: number;
  readonly type: 'invalid_request_error' | 'rate_limit_error' | 'service_unavailable_error' | 'server_error';
  readonly code: string;
}

const callerError = (status: number, code: string): Facts => ({
  status,
  type: 'invalid_request_error',
  code,
});
const serverError = (status: number, code: string): Facts => ({ status, type: 'server_error', code });
const OVERLOADED: Facts = { status: 503, type: 'service_unavailable_error', code: 'server_is_overloaded' };

const FACTS: Readonly<Partial<Record<ErrorCode, Facts>>> = {
  unauthenticated: callerError(401, 'invalid_api_key'),
  forbidden: callerError(403, 'insufficient_permissions'),
  'not-found': callerError(404, 'not_found'),
  'model-not-found': callerError(404, 'model_not_found'),
  'method-not-allowed': callerError(405, 'method_not_allowed'),
  conflict: callerError(409, 'conflict'),
  gone: callerError(410, 'gone'),
  'too-slow': callerError(408, 'request_timeout'),
  'too-large': callerError(413, 'request_too_large'),
  'unsupported-media': callerError(415, 'unsupported_media_type'),
  'idempotency-mismatch': callerError(422, 'idempotency_key_reused'),
  'rate-limited': { status: 429, type: 'rate_limit_error', code: 'rate_limit_exceeded' },
  overloaded: OVERLOADED,
  unavailable: OVERLOADED,
  'hold-expired': serverError(504, 'hold_expired'),
};

const factsOf = (code: ErrorCode): Facts => {
  if (code === 'invalid-input' || code === 'invalid-request') return callerError(400, 'invalid_value');
  return FACTS[code] ?? serverError(ERROR_CODES[code].status, 'internal_error');
};

const ENDS: Readonly<Record<JobEnd, Facts & { headers: Readonly<Record<string, string>> }>> = {
  failed: { ...serverError(500, 'job_failed'), headers: { 'x-should-retry': 'false' } },
  canceled: { ...callerError(409, 'job_canceled'), headers: { 'x-should-retry': 'false' } },
  expired: { ...serverError(504, 'job_expired'), headers: { 'x-should-retry': 'false' } },
  // The client's retry waits for the same job.
  late: {
    ...serverError(504, 'hold_expired'),
    headers: { 'x-should-retry': 'true', 'retry-after-ms': '200' },
  },
  stopping: { ...OVERLOADED, headers: { 'retry-after-ms': '200' } },
};

/** The error in OpenAI's form. An internal error keeps its details to the log. */
export function openaiRefusal(error: LehrError): OpenAiRefusal {
  if (error instanceof JobEndedError) return jobEnded(error);
  if (error.code === 'internal') {
    return refusal({ message: 'Something went wrong on our side.' }, factsOf('internal'), null);
  }
  if (error.code === 'invalid-input' || error.code === 'invalid-request') return badField(error);
  return refusal(error, factsOf(error.code), error.code === 'model-not-found' ? 'model' : paramOf(error));
}

/** Fields that only a worker can check, with their OpenAI names. */
const WORKER_CHECKED_FIELDS: Readonly<Record<string, string>> = {
  '/input/language': 'language',
  '/input/task': 'model',
  '/input/timestamps': 'timestamp_granularities[]',
  '/input/image': 'image',
  '/input/mask': 'mask',
  '/input/texts': 'input',
  '/input/dimensions': 'dimensions',
};

function jobEnded(error: JobEndedError): OpenAiRefusal {
  const job = { job_id: error.job };
  const { headers, ...facts } = ENDS[error.end];
  if (error.end !== 'failed') return { ...refusal(error, facts, null, job), headers };
  // An input that only a worker can check is still a bad request.
  switch (error.code) {
    case 'invalid-audio':
      return refusal(error, callerError(400, 'invalid_value'), 'file', job);
    case 'unsafe-picture':
      return { ...refusal(error, callerError(400, 'content_policy_violation'), null, job), headers };
    case 'too-large':
      return refusal(error, factsOf('too-large'), 'file', job);
    case 'invalid-input':
      return refusedByWorker(error, job);
    default:
      return { ...refusal(error, facts, null, job), headers };
  }
}

function refusedByWorker(error: JobEndedError, job: { readonly job_id: string }): OpenAiRefusal {
  const facts = callerError(400, 'unsupported_value');
  const [problem] = error.problems;
  const [, field = '', index] = /^(\/input\/\w+)(?:\/(\d+))?/.exec(problem?.pointer ?? '') ?? [];
  const name = WORKER_CHECKED_FIELDS[field];
  if (!problem || name === undefined) return refusal(error, facts, null, job);
  const param = index === undefined ? name : `${name}.${index}`;
  const detail = problem.detail.replace(/\.$/, '');
  return refusal({ message: `The job failed: ${param}: ${detail}.` }, facts, param, job);
}

function badField(error: LehrError): OpenAiRefusal {
  const [problem] = error.problems;
  if (problem) return refusal(error, callerError(400, codeOf(problem.detail)), paramOf(error));
  // Without a field the body as a whole could not be read (answer-errors.ts, files/multipart.ts).
  return refusal(
    error,
    callerError(400, /JSON/.test(error.message) ? 'invalid_json' : 'invalid_value'),
    null,
  );
}

function paramOf({ problems: [problem] }: LehrError): string | null {
  return problem?.pointer.startsWith('/') ? problem.pointer.slice(1).replaceAll('/', '.') : null;
}

function codeOf(detail: string): string {
  if (detail === 'is required') return 'missing_required_parameter';
  return detail.startsWith('must be one of') ? 'unsupported_value' : 'invalid_value';
}

const refusal = (
  { message }: Pick<LehrError, 'message'>,
  { status, type, code }: Facts,
  param: string | null,
  more: { readonly job_id?: string } = {},
): OpenAiRefusal => ({ status, body: { error: { message, type, param, code, ...more } }, headers: {} });

interface ErrorResponse {
  description: string;
  content: Record<string, { schema: typeof OpenAiErrorSchema }>;
}

/** The errors of every call that makes a job. */
const CALL_ERRORS = [
  'invalid-input',
  'model-not-found',
  'conflict',
  'gone',
  'too-slow',
  'too-large',
  'unsupported-media',
  'idempotency-mismatch',
  'rate-limited',
  'overloaded',
  'hold-expired',
  'unauthenticated',
  'forbidden',
  'internal',
  'unavailable',
] as const;

/** `problemsWithKey` in OpenAI's statuses and form; its type is `never` for the same reason. */
export function callErrors(): Record<never, ErrorResponse> {
  const responses: Record<number, ErrorResponse> = {};
  for (const { status, code } of CALL_ERRORS.map(factsOf)) {
    const known = responses[status]?.description;
    responses[status] = {
      description: known ? `${known}, \`${code}\`` : `\`${code}\``,
      content: { 'application/json': { schema: OpenAiErrorSchema } },
    };
  }
  return responses;
}

/** Refusals and failed calls as OpenAI clients read them: `{"error": {message, type, param, code}}`. */
import { ERROR_CODES, type ErrorCode, type LehrError } from '@lehr/shared';
import { z } from 'zod';
import { type JobEnd, JobEndedError } from '../../calls/job-ended-error.ts';

export const OpenAiErrorSchema = z
  .object({
    error: z.object({
      message: z.string(),
      type: z.string(),
      param: z.string().nullable().meta({ description: 'The field that it is about.' }),
      code: z.string().nullable(),
      job_id: z.string().optional().meta({ description: 'The job behind the call, when it was made.' }),
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

const ask = (status: number, code: string): Facts => ({ status, type: 'invalid_request_error', code });
const server = (status: number, code: string): Facts => ({ status, type: 'server_error', code });
const OVERLOADED: Facts = { status: 503, type: 'service_unavailable_error', code: 'server_is_overloaded' };

const FACTS: Readonly<Partial<Record<ErrorCode, Facts>>> = {
  unauthenticated: ask(401, 'invalid_api_key'),
  forbidden: ask(403, 'insufficient_permissions'),
  'not-found': ask(404, 'not_found'),
  'model-not-found': ask(404, 'model_not_found'),
  'method-not-allowed': ask(405, 'method_not_allowed'),
  conflict: ask(409, 'conflict'),
  gone: ask(410, 'gone'),
  'too-large': ask(413, 'request_too_large'),
  'unsupported-media': ask(415, 'unsupported_media_type'),
  'idempotency-mismatch': ask(422, 'idempotency_key_reused'),
  'rate-limited': { status: 429, type: 'rate_limit_error', code: 'rate_limit_exceeded' },
  overloaded: OVERLOADED,
  unavailable: OVERLOADED,
  'hold-expired': server(504, 'hold_expired'),
};

const factsOf = (code: ErrorCode): Facts => {
  if (code === 'invalid-input' || code === 'invalid-request') return ask(400, 'invalid_value');
  return FACTS[code] ?? server(ERROR_CODES[code].status, 'internal_error');
};

const ENDS: Readonly<Record<JobEnd, Facts & { headers: Readonly<Record<string, string>> }>> = {
  failed: { ...server(500, 'job_failed'), headers: { 'x-should-retry': 'false' } },
  canceled: { ...ask(409, 'job_canceled'), headers: { 'x-should-retry': 'false' } },
  expired: { ...server(504, 'job_expired'), headers: { 'x-should-retry': 'false' } },
  // The retry joins the same job.
  late: { ...server(504, 'hold_expired'), headers: { 'x-should-retry': 'true', 'retry-after-ms': '200' } },
  stopping: { ...OVERLOADED, headers: { 'retry-after-ms': '200' } },
};

/** What a caller need not know of a fault of ours is not in it. */
export function openaiRefusal(error: LehrError): OpenAiRefusal {
  if (error instanceof JobEndedError) return endedBadly(error);
  if (error.code === 'internal') {
    return refusal({ message: 'Something went wrong on our side.' }, factsOf('internal'), null);
  }
  if (error.code === 'invalid-input' || error.code === 'invalid-request') return badField(error);
  return refusal(error, factsOf(error.code), error.code === 'model-not-found' ? 'model' : paramOf(error));
}

/** The fields of a job's input that a worker can refuse, in the names of this wire. */
const LATE_FIELDS: Readonly<Record<string, string>> = {
  '/input/language': 'language',
  '/input/task': 'model',
  '/input/timestamps': 'timestamp_granularities[]',
};

function endedBadly(error: JobEndedError): OpenAiRefusal {
  const job = { job_id: error.job };
  const { headers, ...facts } = ENDS[error.end];
  if (error.end !== 'failed') return { ...refusal(error, facts, null, job), headers };
  // What only a worker can see is a bad request all the same, however late that was found.
  switch (error.code) {
    case 'invalid-audio':
      return refusal(error, ask(400, 'invalid_value'), 'file', job);
    case 'too-large':
      return refusal(error, factsOf('too-large'), 'file', job);
    case 'invalid-input':
      return refusedLate(error, job);
    default:
      return { ...refusal(error, facts, null, job), headers };
  }
}

function refusedLate(error: JobEndedError, job: { readonly job_id: string }): OpenAiRefusal {
  const facts = ask(400, 'unsupported_value');
  const [problem] = error.problems;
  const param = problem && LATE_FIELDS[problem.pointer];
  if (param === undefined) return refusal(error, facts, null, job);
  const detail = problem.detail.replace(/\.$/, '');
  return refusal({ message: `The job failed: ${param}: ${detail}.` }, facts, param, job);
}

function badField(error: LehrError): OpenAiRefusal {
  const [problem] = error.problems;
  if (problem) return refusal(error, ask(400, codeOf(problem.detail)), paramOf(error));
  // No field is named: the body as a whole could not be read (middleware/on-error.ts, files/multipart.ts).
  return refusal(error, ask(400, /JSON/.test(error.message) ? 'invalid_json' : 'invalid_value'), null);
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

/** What every call that makes a job may be refused with. */
const CALL_ERRORS = [
  'invalid-input',
  'model-not-found',
  'conflict',
  'gone',
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

/** As `problemsWithKey` of the native routes, in the statuses and the shape of this wire; `never` for the same reason. */
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

/**
 * What a log line contains of an error: its type, message, stack, code and cause. Nothing else, because libraries attach the
 * values that they worked with: ioredis the arguments of the command, which hold prompts, keys and URLs; the S3 client its request.
 */

/** The causes of a longer chain, and the errors of a longer AggregateError, are left out. */
const MAX_DEPTH = 5;
const MAX_ERRORS = 10;
/** Fields of a log line that are nested more deeply are left out. */
const MAX_FIELD_DEPTH = 4;

export interface LoggedError {
  readonly type: string;
  readonly message: string;
  readonly stack?: string;
  readonly code?: string | number;
  readonly cause?: LoggedError;
  /** Of an AggregateError. */
  readonly errors?: readonly LoggedError[];
}

/** Log fields, with every error in them replaced by what may be logged of it. */
export const withLoggedErrors = (fields: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, withoutErrors(value, 1)]));

/** An error as it is logged; any other value unchanged. */
export const loggedError = (value: unknown): unknown => (value instanceof Error ? ofError(value, 0) : value);

function withoutErrors(value: unknown, depth: number): unknown {
  if (value instanceof Error) return ofError(value, 0);
  if (typeof value !== 'object' || value === null || 'toJSON' in value) return value;
  if (depth === MAX_FIELD_DEPTH) return '[object]';
  if (Array.isArray(value)) return value.map((each) => withoutErrors(each, depth + 1));
  const fields = Object.entries(value);
  return Object.fromEntries(fields.map(([name, each]) => [name, withoutErrors(each, depth + 1)]));
}

function ofError(error: Error, depth: number): LoggedError {
  const { message, stack, cause, code, errors } = error as Error & Record<'code' | 'errors', unknown>;
  const shown = withoutValues(message);
  const isLast = depth === MAX_DEPTH;
  return {
    type: error.constructor?.name || error.name,
    message: shown,
    // A stack begins with the message.
    ...(typeof stack === 'string' && { stack: shown === message ? stack : stack.replaceAll(message, shown) }),
    ...codeOf(code),
    ...(cause instanceof Error && !isLast && { cause: ofError(cause, depth + 1) }),
    ...(Array.isArray(errors) && !isLast && { errors: ofErrors(errors, depth + 1) }),
  };
}

const ofErrors = (errors: readonly unknown[], depth: number): LoggedError[] =>
  errors
    .filter((error) => error instanceof Error)
    .slice(0, MAX_ERRORS)
    .map((error) => ofError(error, depth));

const codeOf = (code: unknown): { code?: string | number } =>
  typeof code === 'string' || typeof code === 'number' ? { code } : {};

/** Messages that quote a value: Redis's reply to a command it does not know, and what JSON.parse says about a text. */
function withoutValues(message: string): string {
  return message
    .replace(/,? with args beginning with:.*$/s, '')
    .replace(/(?:^|, )(?:\.\.\.)?".*"(?:\.\.\.)? is not valid JSON/s, ' is not valid JSON')
    .trimStart();
}

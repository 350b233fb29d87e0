/**
 * One JSON line per event; every field is named after its value. A `prompt` is logged as its length and a short hash,
 * unless LEHR_LOG_PROMPTS is set. Fields with the name of a key or a secret are redacted, at the top of a line and one
 * level below. Of an error only what `LoggedError` has is logged. JSON escapes control characters, so that user input
 * cannot forge a line.
 */
import { createHash } from 'node:crypto';
import pino from 'pino';

export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'silent';

export interface Log {
  debug(fields: Record<string, unknown>, message: string): void;
  info(fields: Record<string, unknown>, message: string): void;
  warn(fields: Record<string, unknown>, message: string): void;
  error(fields: Record<string, unknown>, message: string): void;
  /** A log that adds these fields to every line. */
  child(fields: Record<string, unknown>): Log;
}

export interface LogOptions {
  /** LEHR_LOG_PROMPTS: prompts in clear. */
  readonly logPrompts?: boolean;
  /** Default: standard output. */
  readonly destination?: { write(line: string): void };
}

const SECRETS = [
  '*.apiKey',
  '*.secret',
  '*.password',
  '*.authorization',
  'authorization',
  'apiKey',
  'secret',
  'password',
];
/** Enough to find the jobs of one prompt in a log; SHA-256 in hexadecimal. */
const PROMPT_HASH_LENGTH = 12;

export function createLog(app: string, level: LogLevel, options: LogOptions = {}): Log {
  const { logPrompts = false, destination } = options;
  const settings = {
    level,
    base: { app, pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }), log: withLoggedErrors },
    serializers: {
      // For the fields of a child; those of a line go through `formatters.log`.
      error: loggedError,
      prompt: (prompt: unknown) => (logPrompts ? prompt : hiddenPrompt(String(prompt))),
    },
    redact: { paths: SECRETS, censor: '[redacted]' },
  };
  return destination ? pino(settings, destination) : pino(settings);
}

/**
 * Has an error that nothing catches logged like any other, and ends the process. Without this, Node prints the error with all
 * that libraries attached to it.
 */
export function logUncaught(log: Log): void {
  process.on('uncaughtException', (error) => {
    log.error({ error }, 'uncaught error; the process ends');
    process.exit(1);
  });
}

const hiddenPrompt = (prompt: string): object => ({
  length: prompt.length,
  sha256: createHash('sha256').update(prompt).digest('hex').slice(0, PROMPT_HASH_LENGTH),
});

const ignore = (): void => {};
/** Writes nothing; for tests. */
export const silentLog: Log = {
  debug: ignore,
  info: ignore,
  warn: ignore,
  error: ignore,
  child: () => silentLog,
};

/** The causes of a longer chain, and the errors of a longer AggregateError, are left out. */
const MAX_DEPTH = 5;
const MAX_ERRORS = 10;
/** Fields of a log line that are nested more deeply are left out. */
const MAX_FIELD_DEPTH = 6;

/**
 * What a log line contains of an error: its type, message, stack, code and cause. Nothing else, because libraries attach the
 * values that they worked with: ioredis the arguments of the command, which hold prompts, keys and URLs; the S3 client its request.
 */
interface LoggedError {
  readonly type: string;
  readonly message: string;
  readonly stack?: string;
  readonly code?: string | number;
  readonly cause?: LoggedError;
  /** Of an AggregateError. */
  readonly errors?: readonly LoggedError[];
}

/** Log fields, with every error in them replaced by what may be logged of it. */
const withLoggedErrors = (fields: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, withoutErrors(value, 1)]));

/** An error as it is logged; any other value unchanged. */
const loggedError = (value: unknown): unknown => (value instanceof Error ? ofError(value, 0) : value);

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

/**
 * One JSON line per event; every field is named after its value. A `prompt` is logged as its length and a short hash,
 * unless LEHR_LOG_PROMPTS is set. Fields with the name of a key or a secret are redacted, at the top of a line and one
 * level below. Of an error only what logged-error.ts allows is logged. JSON escapes control characters, so that user input
 * cannot forge a line.
 */
import { createHash } from 'node:crypto';
import pino from 'pino';
import { loggedError, withLoggedErrors } from './logged-error.ts';

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

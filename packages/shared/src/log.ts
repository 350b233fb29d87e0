/**
 * One JSON line per event. Fields are named for what they hold; prompts never appear unless LEHR_LOG_PROMPTS
 * asks for them, and keys and secrets are redacted wherever they turn up. JSON encoding escapes control
 * characters, so user input cannot forge a line.
 */
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

export function createLog(app: string, level: LogLevel): Log {
  return pino({
    level,
    base: { app, pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    serializers: { error: pino.stdSerializers.errWithCause },
    redact: { paths: SECRETS, censor: '[redacted]' },
  });
}

const nothing = (): void => {};
/** Says nothing; for tests. */
export const silentLog: Log = {
  debug: nothing,
  info: nothing,
  warn: nothing,
  error: nothing,
  child: () => silentLog,
};

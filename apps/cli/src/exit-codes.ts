/** The exit codes of `lehr`. 64 to 78 are those of sysexits.h; docs/cli.md explains each. */
import type { Job, LehrError, LehrErrorCode } from '@lehr/client';

export const EXIT = {
  ok: 0,
  fault: 1,
  jobFailed: 2,
  jobCanceled: 3,
  jobExpired: 4,
  unhealthy: 5,
  usage: 64,
  refused: 65,
  noInput: 66,
  unreachable: 69,
  noOutput: 73,
  tryLater: 75,
  notAllowed: 77,
  config: 78,
  timedOut: 124,
  interrupted: 130,
} as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

export function exitCodeOfJob({ status }: Pick<Job, 'status'>): ExitCode {
  switch (status) {
    case 'failed':
      return EXIT.jobFailed;
    case 'canceled':
      return EXIT.jobCanceled;
    case 'expired':
      return EXIT.jobExpired;
    default:
      return EXIT.ok;
  }
}

const OF_CODE: Partial<Record<LehrErrorCode, ExitCode>> = {
  'connection-failed': EXIT.unreachable,
  'bad-answer': EXIT.unreachable,
  'timed-out': EXIT.timedOut,
  unauthenticated: EXIT.notAllowed,
  forbidden: EXIT.notAllowed,
};

export function exitCodeOf(error: LehrError): ExitCode {
  const known = OF_CODE[error.code];
  if (known !== undefined) return known;
  const { status = 500 } = error;
  if (status === 429 || (status > 500 && status < 600)) return EXIT.tryLater;
  return status >= 500 ? EXIT.fault : EXIT.refused;
}

/** An error of the command line, the configuration or a file: not an answer of Lehr. */
export class CliError extends Error {
  override readonly name = 'CliError';
  readonly exitCode: ExitCode;

  constructor(exitCode: ExitCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.exitCode = exitCode;
  }
}

export const usageError = (message: string): CliError => new CliError(EXIT.usage, message);

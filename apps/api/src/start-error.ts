/** Why the process could not start, for people: one message, no stack. */
export class StartError extends Error {
  override readonly name = 'StartError';
  readonly exitCode: number;

  constructor(kind: keyof typeof EXIT_CODES, message: string, options?: ErrorOptions) {
    super(message, options);
    this.exitCode = EXIT_CODES[kind];
  }
}

/** As in sysexits.h: a supervisor may start again what was unavailable, but not what is configured wrong. */
export const EXIT_CODES = { unavailable: 69, misconfigured: 78 } as const;

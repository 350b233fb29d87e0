/** The process cannot start, for a reason that an operator can fix: printed as a message without a stack. */
export class StartError extends Error {
  override readonly name = 'StartError';
  readonly exitCode: number;

  constructor(kind: keyof typeof EXIT_CODES, message: string, options?: ErrorOptions) {
    super(message, options);
    this.exitCode = EXIT_CODES[kind];
  }
}

/** As in sysexits.h: a supervisor may restart after `unavailable`, but not after `misconfigured`. */
export const EXIT_CODES = { unavailable: 69, misconfigured: 78 } as const;

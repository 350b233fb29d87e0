/** Where the CLI runs: everything it touches outside of itself but files and the network. */
export interface Terminal {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Results. */
  out(text: string): void;
  /** Everything else: progress, complaints. */
  err(text: string): void;
  /** Whether a person sees what `out` and `err` write, and may be shown lines that change. */
  readonly outIsTty: boolean;
  readonly errIsTty: boolean;
  readonly columns: number;
  /** Aborts at Ctrl-C. */
  readonly signal: AbortSignal;
  readStdin(): Promise<string>;
}

/** The process around the CLI: all of its I/O except files and the network. */
export interface Terminal {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Writes results to standard output. */
  out(text: string): void;
  /** Writes progress and errors to standard error. */
  err(text: string): void;
  /** Whether `out` and `err` write to a terminal, where a line can be overwritten. */
  readonly outIsTty: boolean;
  readonly errIsTty: boolean;
  readonly columns: number;
  /** Aborts on Ctrl-C and SIGTERM. */
  readonly signal: AbortSignal;
  readStdin(): Promise<string>;
  /** Asks a person and returns the line; absent when standard input and standard error are not a terminal. */
  readonly ask?: (question: string) => Promise<string>;
}

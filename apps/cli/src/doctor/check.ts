/** The result of one check. The checks of the server (apps/worker/src/programs/doctor) print the same as JSON lines. */
export interface Check {
  readonly name: string;
  /** `warn`: it works, but badly or not for long. */
  readonly state: 'ok' | 'warn' | 'fail';
  readonly detail: string;
  /** How to fix it. */
  readonly advice?: string | undefined;
}

/** The result of one check. `lehr doctor` (apps/cli) reads it as a JSON line. */
export interface Check {
  readonly name: string;
  /** `warn`: it works, but badly or not for long. */
  readonly state: 'ok' | 'warn' | 'fail';
  readonly detail: string;
  /** How to fix it. */
  readonly advice?: string;
}

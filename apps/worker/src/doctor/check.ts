/** One thing that was looked at, as `lehr doctor` shows it. */
export interface Check {
  readonly name: string;
  /** `warn`: it works, but not as well or not for as long as it should. */
  readonly state: 'ok' | 'warn' | 'fail';
  readonly detail: string;
  /** What to do about it. */
  readonly advice?: string;
}

/** One thing that was looked at. The server's own checks (apps/worker/src/doctor) come as lines of the same JSON. */
export interface Check {
  readonly name: string;
  /** `warn`: it works, but not as well or not for as long as it should. */
  readonly state: 'ok' | 'warn' | 'fail';
  readonly detail: string;
  /** What to do about it. */
  readonly advice?: string | undefined;
}

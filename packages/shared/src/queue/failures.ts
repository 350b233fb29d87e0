/** Collects the errors of steps of which none may keep the others from being done. */
import { isRedisOutage } from '../redis/index.ts';

export class Failures {
  readonly #errors: unknown[] = [];

  /** The result of the step; undefined when it failed. An outage of Redis is thrown at once, since all steps would fail. */
  async try<T>(step: () => Promise<T>): Promise<T | undefined> {
    try {
      return await step();
    } catch (error) {
      if (isRedisOutage(error)) throw error;
      this.#errors.push(error);
      return undefined;
    }
  }

  /** Throws all errors as one. `what` names the steps. */
  throwAny(what: string): void {
    if (this.#errors.length === 0) return;
    throw new AggregateError(this.#errors, `${this.#errors.length} ${what} failed`);
  }
}

/**
 * One task of a tenant runs at a time: a large body is read and parsed (middleware/read-body.ts), or a large result, list or workflow
 * is read and written (jobs/large-answers.ts, paced-reads.ts). The tenant's other tasks wait and hold no memory: a body waits unread in
 * its connection, a result in the object store. A tenant with many of them does not keep another tenant waiting.
 */
import { LehrError, type TenantId } from '@lehr/shared';

/** Tasks of one tenant: the one that runs, and those that wait for it. */
const MAX_TASKS = 16;

interface Line {
  length: number;
  last: Promise<unknown>;
}

export class TenantTurns {
  readonly #max: number;
  readonly #lines = new Map<TenantId, Line>();

  constructor(max = MAX_TASKS) {
    this.#max = max;
  }

  /**
   * Rejects with `overloaded` when too many tasks of the tenant wait, and as `task` does. The tenant's next task begins when `rest`
   * of the result has resolved too.
   */
  async run<T>(tenant: TenantId, task: () => Promise<T>, rest?: (result: T) => Promise<void>): Promise<T> {
    const line = this.#lines.get(tenant) ?? { length: 0, last: Promise.resolve() };
    if (line.length >= this.#max) {
      throw new LehrError(
        'overloaded',
        'Too many large bodies or results of this tenant wait for their turn.',
        {
          retryAfterS: 1,
        },
      );
    }
    this.#lines.set(tenant, line);
    line.length += 1;
    const own = line.last.then(task);
    // The next one follows also when this one fails.
    line.last = own
      .then(rest)
      .catch(() => {})
      .then(() => {
        line.length -= 1;
        if (line.length === 0) this.#lines.delete(tenant);
      });
    return own;
  }
}

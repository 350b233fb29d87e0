/**
 * One large body of a tenant is read and parsed at a time, and one of its large results is written at a time (jobs/large-answers.ts). The others of this tenant wait unread, in their connections, so they cost
 * no memory and no time, and a tenant with many of them does not keep another tenant's body waiting.
 */
import { LehrError, type TenantId } from '@lehr/shared';

/** Bodies of one tenant: the one that is read, and those that wait for it. */
const MAX_BODIES = 16;

interface Line {
  length: number;
  last: Promise<unknown>;
}

export class TenantTurns {
  readonly #max: number;
  readonly #lines = new Map<TenantId, Line>();

  constructor(max = MAX_BODIES) {
    this.#max = max;
  }

  /** Rejects with `overloaded` when too many bodies of the tenant wait, and as `task` does. */
  async run<T>(tenant: TenantId, task: () => Promise<T>): Promise<T> {
    const line = this.#lines.get(tenant) ?? { length: 0, last: Promise.resolve() };
    if (line.length >= this.#max) {
      throw new LehrError('overloaded', 'Too many large bodies of this tenant are being read.', {
        retryAfterS: 1,
      });
    }
    this.#lines.set(tenant, line);
    line.length += 1;
    const own = line.last.then(task);
    // The next one follows also when this one fails.
    line.last = own.catch(() => {});
    try {
      return await own;
    } finally {
      line.length -= 1;
      if (line.length === 0) this.#lines.delete(tenant);
    }
  }
}

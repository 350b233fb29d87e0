/**
 * Reads of what may be large, of a tenant one at a time. After each one the tenant's next one waits in proportion to its bytes, so that reads
 * without end take a small part of the event loop only.
 */
import type { Clock, TenantId } from '@lehr/shared';
import { TenantTurns } from './tenant-turns.ts';

/** For each ms that the next read waits: 64 ms for a megabyte of records, which takes the event loop for about 10 ms. */
const BYTES_PER_MS = 2 ** 14;

export class PacedReads {
  readonly #clock: Clock;
  /** Active requests of a tenant are few (http/turns/active-requests.ts), so none is refused here. */
  readonly #turns = new TenantTurns(Number.POSITIVE_INFINITY);

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** `bytesOf` what was read or searched; the next one waits at least `leastMs`. Rejects as `read` does. */
  run<T>(tenant: TenantId, read: () => Promise<T>, bytesOf: (found: T) => number, leastMs = 0): Promise<T> {
    const rest = (found: T) => this.#clock.sleep(Math.max(leastMs, bytesOf(found) / BYTES_PER_MS));
    return this.#turns.run(tenant, read, rest);
  }
}

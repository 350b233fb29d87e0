/**
 * Counts the wrong passwords of an address: after some of them it is refused for the rest of a minute. The pages of administrators
 * count before they check, so they refuse the right password as well. Behind a proxy all callers have one address, so these pages
 * belong on LEHR_OPERATIONS_PORT. The studio counts after it has checked, so a right key always signs in.
 */
import type { Clock } from '@lehr/shared';
import { QuotaError } from './quota.ts';

const MAX_FAILURES = 10;
const WINDOW_S = 60;
/** Above this the address that failed first is forgotten, so that many addresses cannot fill the memory. */
const MAX_ADDRESSES = 10_000;

interface Failures {
  count: number;
  /** By the monotonic clock, ms. */
  readonly endsAt: number;
}

export class FailedLogins {
  readonly #clock: Pick<Clock, 'monotonic'>;
  /** By address, in the order of the first failure. */
  readonly #failures = new Map<string, Failures>();

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** Addresses with a failure. */
  get size(): number {
    return this.#failures.size;
  }

  /**
   * Counts an attempt as a failure until `succeeded` is called, so that attempts that arrive together count as well. Throws
   * QuotaError after too many failures.
   */
  attempt(address: string): void {
    const known = this.#find(address);
    if (!known) this.#add(address);
    else if (known.count < MAX_FAILURES) known.count += 1;
    else throw this.#refusal(known);
  }

  succeeded(address: string): void {
    const known = this.#find(address);
    if (!known) return;
    known.count -= 1;
    if (known.count === 0) this.#failures.delete(address);
  }

  #refusal(known: Failures): QuotaError {
    const resetS = Math.ceil((known.endsAt - this.#clock.monotonic()) / 1000);
    return new QuotaError(`This address has sent ${MAX_FAILURES} wrong passwords in a minute.`, {
      limit: MAX_FAILURES,
      remaining: 0,
      resetS,
    });
  }

  #add(address: string): void {
    const [oldest] = this.#failures.keys();
    if (this.#failures.size >= MAX_ADDRESSES && oldest !== undefined) this.#failures.delete(oldest);
    this.#failures.set(address, { count: 1, endsAt: this.#clock.monotonic() + WINDOW_S * 1000 });
  }

  #find(address: string): Failures | undefined {
    const known = this.#failures.get(address);
    if (!known || known.endsAt > this.#clock.monotonic()) return known;
    this.#failures.delete(address);
    return undefined;
  }
}

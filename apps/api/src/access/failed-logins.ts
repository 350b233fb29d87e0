/**
 * Counts the wrong passwords of an address: after some of them it is refused for the rest of a minute. The pages of administrators
 * count before they check, so they refuse the right password as well. Behind a proxy all callers have one address, so these pages
 * belong on LEHR_OPERATIONS_PORT. The studio counts after it has checked, so a right key always signs in.
 */
import type { Clock, Log } from '@lehr/shared';
import type { Actor, AuditLog } from './audit/audit-log.ts';
import { QuotaError } from './quotas.ts';

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

const EVERY_MS = 60_000;

/**
 * Logs requests that were refused at the pages of administrators, and wrong keys at the sign-in of the studio. At most one entry a
 * minute for each process: who guesses keys must not be able to fill Redis.
 */
export class Refusals {
  readonly #audit: AuditLog;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #action: 'admin.refused' | 'session.refused';
  #loggedAt = Number.NEGATIVE_INFINITY;
  /** Refused since the last entry. */
  #requests = 0;

  constructor(
    audit: AuditLog,
    clock: Clock,
    log: Log,
    action: 'admin.refused' | 'session.refused' = 'admin.refused',
  ) {
    this.#audit = audit;
    this.#clock = clock;
    this.#log = log;
    this.#action = action;
  }

  /** Runs in the background: the answer does not wait for it. `tenant` is null when the key is unknown. */
  note({ keyId, address }: Actor, tenant: string | null): void {
    this.#requests += 1;
    const now = this.#clock.monotonic();
    if (now - this.#loggedAt < EVERY_MS) return;
    this.#loggedAt = now;
    const changes = { requests: this.#requests };
    this.#requests = 0;
    this.#audit
      .append({ action: this.#action, actor: keyId, tenant, target: null, address, changes })
      .catch((error) => this.#log.warn({ error }, 'a refused request is missing in the audit log'));
  }
}

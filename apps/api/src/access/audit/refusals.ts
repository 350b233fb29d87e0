/**
 * Logs requests that were refused at the pages of administrators, and wrong keys at the sign-in of the studio. At most one entry a minute for each process: who guesses keys must
 * not be able to fill Redis.
 */
import type { Clock, Log } from '@lehr/shared';
import type { Actor, AuditLog } from './audit-log.ts';

const EVERY_MS = 60_000;

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

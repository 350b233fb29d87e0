/**
 * Signed links to a job's events, for clients that cannot send a key: a browser's EventSource, Replicate's `urls.stream`.
 * `<publicUrl>/events/<job>?expires=<unix s>&sig=<base64url>` gives access to this one job until it expires.
 */
import type { Clock, JobId } from '@lehr/shared';
import { checkQuery, type QueryVerdict, signature } from '@lehr/shared/objects';

export interface EventLinksOptions {
  readonly secret: string;
  readonly publicUrl: string;
  readonly ttlS: number;
  readonly clock: Clock;
}

export class EventLinks {
  readonly #options: EventLinksOptions;
  readonly #base: string;

  constructor(options: EventLinksOptions) {
    this.#options = options;
    this.#base = options.publicUrl.replace(/\/+$/, '');
  }

  /**
   * Valid for at least half and at most all of the time to live: the expiry moves in steps of half of it, counted from the job's
   * creation, so that a job's link stays the same for a while.
   */
  to(id: JobId, createdAtMs: number): string {
    const { secret, ttlS, clock } = this.#options;
    const [createdS, stepS] = [Math.floor(createdAtMs / 1000), Math.max(1, Math.floor(ttlS / 2))];
    const steps = Math.floor((clock.now() / 1000 - createdS) / stepS) + 2;
    const expiresAtS = createdS + steps * stepS;
    // base64url needs no escapes.
    const sig = signature(secret, linesOf(id, expiresAtS));
    return `${this.#base}/events/${id}?expires=${expiresAtS}&sig=${sig}`;
  }

  verdict(id: string, query: URLSearchParams): QueryVerdict {
    const { secret, clock } = this.#options;
    return checkQuery(secret, query, clock.now(), (expiresAtS) => linesOf(id, expiresAtS));
  }
}

const linesOf = (id: string, expiresAtS: number) => ['lehr-events-1', id, expiresAtS];

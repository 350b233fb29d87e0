/**
 * Links to a job's events for those who send no key: a browser's EventSource, a client that follows `urls.stream`.
 * `<publicUrl>/events/<job>?expires=<unix s>&sig=<base64url>`; it is the right to follow this one job until then.
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
   * Good for at least half and at most the whole time to live: its end moves in steps from the job's creation on, so that the
   * same job is shown with the same link for a while.
   */
  to(id: JobId, createdAtMs: number): string {
    const { secret, ttlS, clock } = this.#options;
    const [createdS, stepS] = [Math.floor(createdAtMs / 1000), Math.max(1, Math.floor(ttlS / 2))];
    const steps = Math.floor((clock.now() / 1000 - createdS) / stepS) + 2;
    const expiresAtS = createdS + steps * stepS;
    const query = new URLSearchParams({
      expires: String(expiresAtS),
      sig: signature(secret, linesOf(id, expiresAtS)),
    });
    return `${this.#base}/events/${id}?${query}`;
  }

  verdict(id: string, query: URLSearchParams): QueryVerdict {
    const { secret, clock } = this.#options;
    return checkQuery(secret, query, clock.now(), (expiresAtS) => linesOf(id, expiresAtS));
  }
}

const linesOf = (id: string, expiresAtS: number) => ['lehr-events-1', id, expiresAtS];

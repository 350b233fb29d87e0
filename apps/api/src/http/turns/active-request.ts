/** One request, from its arrival to its end: it waits for its turn, is active, or waits for something slow. */
import { LehrError } from '@lehr/shared';
import { randomRetryAfterS } from '../../access/quota.ts';

const RETRY_S = 5;

export interface Waiting {
  /** By the monotonic clock. */
  readonly refusedAt: number;
  readonly begin: () => void;
  readonly refuse: () => void;
}

/** What a request needs of its line. */
export interface Place {
  /** Calls `begin` when it is the turn of the request, at once if it can. */
  takeTurn(waiting: Waiting): void;
  stopWaiting(waiting: Waiting): void;
  /** The request is no longer active. */
  rest(): void;
  leave(): void;
  readonly refusedAt: number;
}

export class ActiveRequest {
  readonly #place: Place;
  #state: 'arrived' | 'active' | 'inactive' | 'ended' = 'arrived';
  #leaveLine = (): void => {};

  constructor(place: Place) {
    this.#place = place;
  }

  /** True when it is the turn of the request, false when its caller hangs up first. Rejects with `overloaded` after ten seconds. */
  begin(): Promise<boolean> {
    return new Promise((resolve, reject) => {
      const waiting: Waiting = {
        refusedAt: this.#place.refusedAt,
        begin: () => {
          this.#becomeActive();
          resolve(true);
        },
        refuse: () => {
          this.#place.stopWaiting(waiting);
          const message = 'Too many requests of this caller wait for their turn.';
          reject(new LehrError('overloaded', message, { retryAfterS: randomRetryAfterS(RETRY_S) }));
        },
      };
      this.#leaveLine = () => {
        this.#place.stopWaiting(waiting);
        resolve(false);
      };
      this.#place.takeTurn(waiting);
    });
  }

  /**
   * Waits for something slow. The request is not active meanwhile. It goes on when it is its turn again, however long that takes, and
   * also when its caller has hung up: thousands of requests may end at the same time. One that has ended meanwhile needs no turn.
   */
  async inactive<T>(wait: Promise<T>): Promise<T> {
    if (this.#state !== 'active') return wait;
    this.#state = 'inactive';
    this.#place.rest();
    try {
      return await wait;
    } finally {
      await this.#goOn();
    }
  }

  #goOn(): Promise<void> {
    if (this.#hasEnded()) return Promise.resolve();
    return new Promise((resolve) => {
      const begin = (): void => {
        this.#becomeActive();
        resolve();
      };
      this.#place.takeTurn({ refusedAt: Number.POSITIVE_INFINITY, begin, refuse: () => {} });
    });
  }

  /** A request that has ended gives its place back at once. */
  #becomeActive(): void {
    if (this.#hasEnded()) this.#place.rest();
    else this.#state = 'active';
  }

  /** A method, because the state changes while others wait. */
  #hasEnded(): boolean {
    return this.#state === 'ended';
  }

  /** The caller is gone: a request that has not begun never begins. */
  hangUp(): void {
    if (this.#state === 'arrived') this.#leaveLine();
  }

  /** Its work is done, or never begins. */
  end(): void {
    if (this.#state === 'ended') return;
    if (this.#state === 'active') this.#place.rest();
    this.#state = 'ended';
    this.#place.leave();
  }
}

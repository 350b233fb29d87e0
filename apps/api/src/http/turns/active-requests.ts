/**
 * Decides which requests the process works on, so that a caller with thousands of requests slows the others little. Requests wait in
 * lines, one for each caller. A line has few active requests, the lines take turns, and few requests begin in one turn of the event
 * loop, so that its turns are short. While a request waits for something slow, such as the end of its job, it is not active.
 */
import { type Clock, LehrError } from '@lehr/shared';
import { randomRetryAfterS } from '../../access/quotas.ts';

/** Of one line. */
const MAX_ACTIVE = 16;
/** In one turn of the event loop. */
const MAX_BEGINS = 8;
/** Node takes one new connection in a turn of the event loop. While there are some, turns are shorter, so that none waits long. */
const MAX_BEGINS_WHILE_CONNECTING = 1;
const MAX_WAIT_MS = 10_000;
const REFUSE_EVERY_MS = 100;
/** At a time: refusals take time as well. */
const MAX_REFUSALS = 40;

interface Line {
  readonly name: string;
  /** All requests of the line, until they end. */
  requests: number;
  active: number;
  /** Those that wait for their turn, in the order of arrival. */
  readonly waiting: Set<Waiting>;
  /** It is among the lines that take turns. */
  takesTurns: boolean;
}

export class ActiveRequests {
  readonly #clock: Clock;
  readonly #lines = new Map<string, Line>();
  /** Lines with a waiting request and room for it. The first one is next. */
  readonly #turns: Line[] = [];
  /** In this turn of the event loop. */
  #begins = 0;
  /** A connection was taken in this turn. */
  #isConnecting = false;
  #isTurnScheduled = false;
  #isRefusing = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Requests that wait for their turn. */
  get waiting(): number {
    let sum = 0;
    for (const { waiting } of this.#lines.values()) sum += waiting.size;
    return sum;
  }

  /** A connection was taken. */
  connected(): void {
    this.#isConnecting = true;
  }

  /** A request that has arrived. Call its `begin` next, and its `end` when it is done. */
  arrive(lineName: string): ActiveRequest {
    const known = this.#lines.get(lineName);
    const line = known ?? { name: lineName, requests: 0, active: 0, waiting: new Set(), takesTurns: false };
    if (!known) this.#lines.set(lineName, line);
    line.requests += 1;
    return new ActiveRequest({
      takeTurn: (waiting) => this.#takeTurn(line, waiting),
      stopWaiting: (waiting) => line.waiting.delete(waiting),
      rest: () => {
        line.active -= 1;
        this.#giveTurn(line);
      },
      leave: () => {
        line.requests -= 1;
        if (line.requests === 0) this.#lines.delete(lineName);
      },
      refusedAt: this.#clock.monotonic() + MAX_WAIT_MS,
    });
  }

  #takeTurn(line: Line, waiting: Waiting): void {
    const isFree = this.#turns.length === 0 && this.#begins < MAX_BEGINS;
    if (isFree && line.active < MAX_ACTIVE && line.waiting.size === 0) {
      this.#begin(line, waiting);
      return;
    }
    line.waiting.add(waiting);
    this.#giveTurn(line);
    if (!this.#isRefusing) void this.#refuseLate();
  }

  #begin(line: Line, { begin }: Waiting): void {
    line.active += 1;
    this.#begins += 1;
    this.#scheduleTurn();
    begin();
  }

  #giveTurn(line: Line): void {
    if (line.takesTurns || line.waiting.size === 0 || line.active >= MAX_ACTIVE) return;
    line.takesTurns = true;
    this.#turns.push(line);
    this.#scheduleTurn();
  }

  #scheduleTurn(): void {
    if (this.#isTurnScheduled) return;
    this.#isTurnScheduled = true;
    setImmediate(() => {
      this.#isTurnScheduled = false;
      this.#begins = this.#isConnecting ? MAX_BEGINS - MAX_BEGINS_WHILE_CONNECTING : 0;
      this.#isConnecting = false;
      this.#beginNext();
    });
  }

  #beginNext(): void {
    while (this.#begins < MAX_BEGINS) {
      const line = this.#turns.shift();
      if (!line) return;
      line.takesTurns = false;
      const [first] = line.waiting;
      if (first && line.active < MAX_ACTIVE) {
        line.waiting.delete(first);
        this.#begin(line, first);
      }
      this.#giveTurn(line);
    }
    if (this.#turns.length > 0) this.#scheduleTurn();
  }

  /** Runs while requests wait. */
  async #refuseLate(): Promise<void> {
    this.#isRefusing = true;
    while (this.waiting > 0) {
      await this.#clock.sleep(REFUSE_EVERY_MS);
      const now = this.#clock.monotonic();
      const late = [...this.#lines.values()].flatMap(({ waiting }) =>
        [...waiting].filter(({ refusedAt }) => refusedAt <= now),
      );
      for (const { refuse } of late.slice(0, MAX_REFUSALS)) refuse();
    }
    this.#isRefusing = false;
  }
}

const RETRY_S = 5;

interface Waiting {
  /** By the monotonic clock. */
  readonly refusedAt: number;
  readonly begin: () => void;
  readonly refuse: () => void;
}

/** What a request needs of its line. */
interface Place {
  /** Calls `begin` when it is the turn of the request, at once if it can. */
  takeTurn(waiting: Waiting): void;
  stopWaiting(waiting: Waiting): void;
  /** The request is no longer active. */
  rest(): void;
  leave(): void;
  readonly refusedAt: number;
}

/** One request, from its arrival to its end: it waits for its turn, is active, or waits for something slow. */
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

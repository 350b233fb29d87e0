/**
 * Decides which requests the process works on, so that a caller with thousands of requests slows the others little. Requests wait in
 * lines, one for each caller. A line has few active requests, the lines take turns, and few requests begin in one turn of the event
 * loop, so that its turns are short. While a request waits for something slow, such as the end of its job, it is not active.
 */
import type { Clock } from '@lehr/shared';
import { ActiveRequest, type Waiting } from './active-request.ts';

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

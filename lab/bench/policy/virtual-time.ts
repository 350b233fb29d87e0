/** A clock whose time is advanced by the simulation alone: events happen in the order of their times, without waiting. */
import type { Clock } from '../../../packages/shared/src/index.ts';

interface Event {
  readonly at: number;
  readonly run: () => void;
}

export class VirtualTime implements Clock {
  #now = 0;
  /** By time, the next one last. */
  #events: Event[] = [];

  now = (): number => this.#now;
  monotonic = (): number => this.#now;
  sleep = (ms: number): Promise<void> => new Promise((resolve) => this.at(this.#now + ms, resolve));

  /** Events of the same time run in the order in which they were added. */
  at(time: number, run: () => void): void {
    let place = this.#events.length;
    while (place > 0 && this.#events[place - 1].at <= time) place -= 1;
    this.#events.splice(place, 0, { at: time, run });
  }

  /** Lets this much time pass, with everything that happens in it. */
  advance(ms: number): void {
    const end = this.#now + ms;
    for (let next = this.#events.at(-1); next && next.at <= end; next = this.#events.at(-1)) this.#runNext();
    this.#now = end;
  }

  /** Goes to the next event. Returns false when there is none. */
  skip(): boolean {
    return this.#runNext();
  }

  #runNext(): boolean {
    const next = this.#events.pop();
    if (!next) return false;
    this.#now = Math.max(this.#now, next.at);
    next.run();
    return true;
  }
}

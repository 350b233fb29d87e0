/** Rates from the counters of processes: the differences of the newest reading and one that is up to ten seconds older. Pure. */
import type { Counts } from '@lehr/shared';

/** The counters of all processes, by their ids, and when they were read, ms. */
export interface CountsReading {
  readonly at: number;
  readonly counts: ReadonlyMap<string, Counts>;
}

const WINDOW_MS = 10_000;
/** With a shorter time, a reading that comes late would change the rates much. */
const MIN_WINDOW_MS = 900;

/** Keeps the readings that later ones are compared with. */
export class RateWindow {
  #readings: readonly CountsReading[] = [];

  /** A reading that follows a pause of more than the window is compared with nothing. */
  add(reading: CountsReading): Rates {
    this.#readings = this.#readings.filter(({ at }) => reading.at - at <= WINDOW_MS);
    const [before] = this.#readings;
    this.#readings = [...this.#readings, reading];
    return new Rates(before && reading.at - before.at >= MIN_WINDOW_MS ? before : undefined, reading);
  }
}

export class Rates {
  readonly #before: CountsReading | undefined;
  readonly #now: CountsReading;

  constructor(before: CountsReading | undefined, now: CountsReading) {
    this.#before = before;
    this.#now = now;
  }

  /** Null without an older reading. */
  get windowS(): number | null {
    return this.#before ? (this.#now.at - this.#before.at) / 1000 : null;
  }

  /** Per second, of one process; null without an older reading of it. */
  of(id: string, name: string): number | null {
    const grown = this.#grown(id, name);
    return grown === null || this.windowS === null ? null : rounded(grown / this.windowS);
  }

  /** Mean seconds of what a process timed under `name`, as ms; null when it timed nothing. */
  meanMs(id: string, name: string, suffix = ''): number | null {
    return meanMs(this.#grown(id, `${name}_s${suffix}`), this.#grown(id, `${name}${suffix}`));
  }

  /** Per second, of all processes together. */
  sum(name: string): number | null {
    const values = this.#ids.map((id) => this.of(id, name)).filter((value) => value !== null);
    return values.length === 0 ? null : rounded(values.reduce((sum, value) => sum + value, 0));
  }

  meanMsOfAll(name: string): number | null {
    const total = (each: string): number =>
      this.#ids.reduce((sum, id) => sum + (this.#grown(id, each) ?? 0), 0);
    return meanMs(total(`${name}_s`), total(name));
  }

  get #ids(): readonly string[] {
    return [...this.#now.counts.keys()];
  }

  /** A process that started again counts from zero. */
  #grown(id: string, name: string): number | null {
    const before = this.#before?.counts.get(id);
    const now = this.#now.counts.get(id);
    if (!before || !now) return null;
    const [from, to] = [before[name] ?? 0, now[name] ?? 0];
    return to >= from ? to - from : to;
  }
}

const meanMs = (seconds: number | null, count: number | null): number | null =>
  seconds === null || count === null || count === 0 ? null : rounded((1000 * seconds) / count);

const rounded = (value: number): number => Math.round(value * 1000) / 1000;

/**
 * One device, several kinds of work: lanes of different shapes, and decoding finished latents. Each takes turns of one
 * step or one picture; whoever has used the least device time goes next, so a full lane is never stalled by a pile
 * of pictures to decode, and the other way round.
 */

export interface Station {
  readonly hasWork: boolean;
  /** One short, bounded piece of work. */
  turn(): Promise<void>;
}

export class Turns {
  readonly #usedMs = new Map<Station, number>();
  /** The device time of whoever went last; somebody who was idle is not owed the time it slept. */
  #level = 0;

  /** The station to go next; undefined when nobody has work. */
  next(stations: Iterable<Station>): Station | undefined {
    let chosen: Station | undefined;
    for (const station of stations) {
      if (!station.hasWork) {
        this.#usedMs.delete(station);
        continue;
      }
      if (!this.#usedMs.has(station)) this.#usedMs.set(station, this.#level);
      if (!chosen || this.#used(station) < this.#used(chosen)) chosen = station;
    }
    if (chosen) this.#level = Math.max(this.#level, this.#used(chosen));
    return chosen;
  }

  /** Charges a station for device time it used. */
  charge(station: Station, ms: number): void {
    if (this.#usedMs.has(station)) this.#usedMs.set(station, this.#used(station) + ms);
  }

  #used(station: Station): number {
    return this.#usedMs.get(station) ?? 0;
  }
}

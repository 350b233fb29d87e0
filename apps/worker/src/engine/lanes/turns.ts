/**
 * Shares one device between several kinds of work: lanes of different shapes, encoding prompts and decoding latents. A turn
 * is one step, one picture or a piece of it, one call of Whisper or one run of texts. The next turn goes to the kind that has used the least device
 * time, so a pile of pictures to decode never stalls a lane, and a full lane never stalls them.
 */

/** Bulk work that has paused for so long gets one turn, so that the jobs of a worker that is never idle still end. */
export const MAX_PAUSE_MS = 10_000;

/** Whether bulk work gets the next turn: it pauses while other work waits, at its next turn and for MAX_PAUSE_MS at most. */
export const isBulkNext = (hasBulk: boolean, hasOther: boolean, pausedMs: number): boolean =>
  hasBulk && (!hasOther || pausedMs >= MAX_PAUSE_MS);

export interface TurnTaker {
  readonly hasWork: boolean;
  /** Whether others with work take a turn between two of its turns, however little time it has used. Default: false. */
  readonly letsOthersPass?: boolean;
  /** One short, bounded piece of work. */
  takeTurn(): Promise<void>;
}

export class Turns {
  /** By the object, so that a lane that the engine forgets is forgotten here too. */
  readonly #usedMs = new WeakMap<TurnTaker, number>();
  /** Device time of the last one chosen. A new one starts with it, so that time spent idle gives no claim to more turns. */
  #levelMs = 0;
  /** The one that took the last turn. */
  #last: TurnTaker | undefined;

  /** The one to take the next turn; undefined when none has work. */
  next(takers: Iterable<TurnTaker>): TurnTaker | undefined {
    const willing: TurnTaker[] = [];
    for (const taker of takers) {
      if (!taker.hasWork) {
        this.#usedMs.delete(taker);
        continue;
      }
      if (!this.#usedMs.has(taker)) this.#usedMs.set(taker, this.#levelMs);
      willing.push(taker);
    }
    const isPassed = (taker: TurnTaker): boolean =>
      willing.length > 1 && taker === this.#last && taker.letsOthersPass === true;
    let chosen: TurnTaker | undefined;
    for (const taker of willing) {
      if (!isPassed(taker) && (!chosen || this.#used(taker) < this.#used(chosen))) chosen = taker;
    }
    if (chosen) this.#levelMs = Math.max(this.#levelMs, this.#used(chosen));
    return chosen;
  }

  /** Adds the device time of a turn. */
  charge(taker: TurnTaker, ms: number): void {
    this.#last = taker;
    if (this.#usedMs.has(taker)) this.#usedMs.set(taker, this.#used(taker) + ms);
  }

  #used(taker: TurnTaker): number {
    return this.#usedMs.get(taker) ?? 0;
  }
}

/**
 * The jobs that wait for each model, when one look at the queues does not see all groups: what an earlier look saw is kept for a while. Else
 * a model for which room is being made would seem to have no work, and its place would be given back.
 */
export interface Waiting {
  readonly jobs: number;
  readonly oldestMs: number;
}

/** In this time the looks at the queues, twice a second, see about 480 groups. */
const KEPT_MS = 10_000;

export class WaitingMemory {
  readonly #seen = new Map<string, { readonly waiting: Waiting; readonly at: number }>();

  /** `isWhole`: the look saw all groups with waiting jobs. `now` is of the monotonic clock, ms. */
  add(found: ReadonlyMap<string, Waiting>, isWhole: boolean, now: number): ReadonlyMap<string, Waiting> {
    if (isWhole) this.#seen.clear();
    for (const [ref, waiting] of found) this.#seen.set(ref, { waiting, at: now });
    for (const [ref, { at }] of this.#seen) if (now - at > KEPT_MS) this.#seen.delete(ref);
    return new Map([...this.#seen].map(([ref, { waiting }]) => [ref, waiting]));
  }
}

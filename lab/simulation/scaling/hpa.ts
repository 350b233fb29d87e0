/**
 * How Kubernetes applies a wanted number: KEDA between 0 and 1, and the HPA above, with its algorithm for an external metric of the type
 * AverageValue, its tolerance, its default limit for growth and its window for shrinking.
 */
import type { HpaSettings } from './scalers.ts';

const SYNC_S = 15;
const TOLERANCE = 0.1;
/** By default a Deployment may double, or grow by 4 pods, in 15 seconds. */
const GROWTH_SHARE = 2;
const GROWTH_PODS = 4;

export class Hpa {
  readonly #settings: HpaSettings;
  #replicas = 0;
  #nextSyncS = 0;
  #lastNeededS = 0;
  #recent: (readonly [atS: number, wanted: number])[] = [];

  constructor(settings: HpaSettings) {
    this.#settings = settings;
  }

  /** Called every 5 seconds, KEDA's pollingInterval of docs/scaling.md. */
  apply(atS: number, wanted: number): number {
    const { zeroAfterS } = this.#settings;
    if (wanted > 0) this.#lastNeededS = atS;
    if (this.#replicas === 0) {
      if (wanted > 0) this.#replicas = 1;
    } else if (wanted === 0 && atS - this.#lastNeededS >= zeroAfterS) {
      this.#replicas = 0;
      this.#recent = [];
    } else if (atS >= this.#nextSyncS) {
      this.#nextSyncS = atS + SYNC_S;
      this.#sync(atS, wanted);
    }
    return this.#replicas;
  }

  #sync(atS: number, wanted: number): void {
    const { shrinkWindowS, max } = this.#settings;
    const ratio = wanted / this.#replicas;
    const proposed = Math.abs(ratio - 1) <= TOLERANCE ? this.#replicas : Math.max(1, wanted);
    this.#recent = [...this.#recent.filter(([at]) => at > atS - shrinkWindowS), [atS, proposed]];
    const held = Math.max(...this.#recent.map(([, each]) => each));
    const top = Math.max(this.#replicas * GROWTH_SHARE, this.#replicas + GROWTH_PODS);
    const growing = Math.min(proposed, top, max);
    this.#replicas = proposed > this.#replicas ? growing : Math.min(this.#replicas, held);
  }
}

/** Which part of the jobs of each model the workers of one model run. */
import type { WorkerStatus } from '@lehr/shared';
import { fleetIndex } from './fleet-index.ts';
import { type FleetView, serving } from './fleet-view.ts';

export interface ModelShares {
  /** Live workers that serve the model. */
  readonly workers: number;
  /** The models that these workers serve, and the share of the jobs of each that they run. Without workers, the model itself. */
  readonly shares: ReadonlyMap<string, number>;
}

/** As `modelSharesOf`, from reports that are at most two seconds old. */
export class ModelSharesView {
  readonly #fleet: FleetView;
  /** Answers already computed, by the reports they were computed from. */
  readonly #computed = new WeakMap<readonly WorkerStatus[], Map<string, ModelShares>>();

  constructor(fleet: FleetView) {
    this.#fleet = fleet;
  }

  /** `model` is `name@version`. */
  async of(model: string): Promise<ModelShares> {
    const fleet = await this.#fleet.workers();
    const computed = this.#computed.get(fleet) ?? new Map<string, ModelShares>();
    this.#computed.set(fleet, computed);
    const shares = computed.get(model) ?? modelSharesOf(model, fleet);
    computed.set(model, shares);
    return shares;
  }
}

export function modelSharesOf(model: string, fleet: readonly WorkerStatus[]): ModelShares {
  const servers = serving(fleet, model);
  const refs = new Set([model, ...servers.flatMap(({ models }) => models.map(({ ref }) => ref))]);
  const shareOf = (ref: string): number => {
    const all = serving(fleet, ref).length;
    return all === 0 ? 1 : fleetIndex(fleet).servingBoth(model, ref) / all;
  };
  return { workers: servers.length, shares: new Map([...refs].map((ref) => [ref, shareOf(ref)])) };
}

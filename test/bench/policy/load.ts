/** Arrivals of jobs: Poisson, or all at once. The same seed gives the same jobs. */
import type { LatencyModel } from '../../../apps/worker/src/runtime/simulated.ts';
import { Random } from '../../support/random.ts';

export interface PolicyJob {
  readonly id: number;
  /** Virtual ms. */
  readonly arrivesAt: number;
  readonly steps: number;
  /** Above 1, so every sample has two rows. */
  readonly guidance: number;
  readonly tenant: string;
}

/** Mix M: short, usual and long jobs, with three guidance scales. */
const MIX = [
  { share: 0.3, steps: 4 },
  { share: 0.5, steps: 20 },
  { share: 0.2, steps: 50 },
] as const;
const GUIDANCE = [5, 7.5, 8.2] as const;
export const ROWS = 2;

export const MEAN_STEPS = MIX.reduce((sum, { share, steps }) => sum + share * steps, 0);

/** Ms of a step of so many rows. */
export const stepMs = ({ stepBaseMs, stepPerRowMs, stepLeastMs = 0 }: LatencyModel, rows: number): number =>
  Math.max(stepLeastMs, stepBaseMs + stepPerRowMs * rows);

/** How long the device needs for the job when it has no other work. */
export const aloneMs = (device: LatencyModel, { steps }: Pick<PolicyJob, 'steps'>): number =>
  device.textMs + steps * stepMs(device, ROWS) + device.pictureMs;

/** Jobs per ms that the device could make of the mix if every step had `rows` rows. */
export const capacity = (device: LatencyModel, rows: number): number =>
  1 / (device.textMs + (MEAN_STEPS * stepMs(device, rows) * ROWS) / rows + device.pictureMs);

/** `perMs`: mean arrivals. */
export function poissonMix(
  count: number,
  perMs: number,
  { seed, tenants }: { readonly seed: number; readonly tenants: number },
): PolicyJob[] {
  const random = new Random(seed);
  let at = 0;
  return Array.from({ length: count }, (_, id) => {
    at -= Math.log(1 - random.next()) / perMs;
    const share = random.next();
    const kind = share < MIX[0].share ? MIX[0] : share < MIX[0].share + MIX[1].share ? MIX[1] : MIX[2];
    return {
      id,
      arrivesAt: at,
      steps: kind.steps,
      guidance: random.pick(GUIDANCE),
      tenant: `tenant-${random.below(tenants)}`,
    };
  });
}

/** All at the beginning, with 20 steps; `scales` different guidance scales. */
export const backlog = (count: number, scales: number): PolicyJob[] =>
  Array.from({ length: count }, (_, id) => ({
    id,
    arrivesAt: 0,
    steps: 20,
    guidance: 5 + (id % scales) / 64,
    tenant: 'tenant',
  }));

/** Arrivals of jobs: Poisson, or all at once. The same seed gives the same jobs. */
import type { LatencyModel } from '../../../apps/worker/src/engine/runtime/simulated.ts';
import { Random } from '../../../test/support/random.ts';

export interface PolicyJob {
  readonly id: number;
  /** Virtual ms. */
  readonly arrivesAt: number;
  readonly steps: number;
  /** Above 1, so every sample has two rows. */
  readonly guidance: number;
  readonly tenant: string;
  /** Of the picture, in pixels; USUAL_SIDE when absent. */
  readonly side?: number;
}

/** The picture that a device's times hold for. It stands for 512x512: the simulation draws at an eighth of the width. */
export const USUAL_SIDE = 64;

/** Mix M: short, usual and long jobs, with three guidance scales. */
const MIX = [
  { share: 0.3, steps: 4 },
  { share: 0.5, steps: 20 },
  { share: 0.2, steps: 50 },
] as const;
const GUIDANCE = [5, 7.5, 8.2] as const;
/** They stand for 512x512, 768x768 and 1024x1024. */
const SIDES = [
  { share: 0.5, side: USUAL_SIDE },
  { share: 0.3, side: 1.5 * USUAL_SIDE },
  { share: 0.2, side: 2 * USUAL_SIDE },
] as const;
export const ROWS = 2;

export const MEAN_STEPS = MIX.reduce((sum, { share, steps }) => sum + share * steps, 0);

/** How many usual pictures have as many pixels. */
export const areaOf = ({ side = USUAL_SIDE }: Pick<PolicyJob, 'side'>): number => (side / USUAL_SIDE) ** 2;

export const MEAN_AREA = SIDES.reduce((sum, { share, side }) => sum + share * areaOf({ side }), 0);

/** Ms of a step of so many rows of the usual size. */
export const stepMs = ({ stepBaseMs, stepPerRowMs, stepLeastMs = 0 }: LatencyModel, rows: number): number =>
  Math.max(stepLeastMs, stepBaseMs + stepPerRowMs * rows);

/** How long the device needs for the job when it has no other work. */
export const aloneMs = (device: LatencyModel, job: Pick<PolicyJob, 'steps' | 'side'>): number =>
  device.textMs + job.steps * stepMs(device, ROWS * areaOf(job)) + device.pictureMs * areaOf(job);

/** Jobs per ms that the device could make of the mix if every step had `rows` rows; `area`: of the mean picture. */
export const capacity = (device: LatencyModel, rows: number, area = 1): number =>
  1 / (device.textMs + (MEAN_STEPS * stepMs(device, rows * area) * ROWS) / rows + device.pictureMs * area);

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

/** The same jobs with three sizes, which are drawn for themselves: all else stays as it is. */
export function withSizes(jobs: readonly PolicyJob[], seed: number): PolicyJob[] {
  const random = new Random(seed);
  return jobs.map((job) => {
    let share = random.next();
    const drawn = SIDES.find((each) => {
      share -= each.share;
      return share < 0;
    });
    return { ...job, side: drawn?.side ?? USUAL_SIDE };
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

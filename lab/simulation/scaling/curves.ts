/** Loads over time: when jobs arrive and how many engine seconds each costs. */
import { Random } from '../../../test/support/random.ts';

export interface SimulatedJob {
  readonly atS: number;
  /** Seconds that one worker needs. */
  readonly costS: number;
}

export interface Curve {
  readonly name: string;
  readonly what: string;
  readonly lengthS: number;
  readonly jobs: readonly SimulatedJob[];
  /** Workers' worth of work that arrives at a moment, as it was asked for. */
  loadAt(second: number): number;
}

/**
 * Pictures of 512x512 with guidance on a T4: 133 ms a step, and 0.27 s for texts and decoding (lab/simulation.md does not measure it; it
 * is fitted to published times). 4, 20 and 50 steps, as 30, 50 and 20 % of the jobs.
 */
const STEP_S = 0.1328;
const REST_S = 0.272;
const MIX: readonly (readonly [share: number, steps: number])[] = [
  [0.3, 4],
  [0.5, 20],
  [0.2, 50],
];
const costOf = (steps: number): number => steps * STEP_S + REST_S;
const MEAN_COST_S = MIX.reduce((sum, [share, steps]) => sum + share * costOf(steps), 0);

const HOUR_S = 3600;

/** Poisson arrivals whose rate follows `load`. */
function curveOf(
  name: string,
  what: string,
  lengthS: number,
  seed: number,
  loadAt: (second: number) => number,
): Curve {
  const random = new Random(seed);
  const most = Math.max(...Array.from({ length: Math.ceil(lengthS / 10) }, (_, i) => loadAt(i * 10)));
  const jobs: SimulatedJob[] = [];
  for (let atS = 0; ; ) {
    // Thinning: arrivals at the highest rate, of which the share of the rate at that moment is kept.
    atS -= (Math.log(1 - random.next()) * MEAN_COST_S) / most;
    if (atS >= lengthS) break;
    if (random.next() * most < loadAt(atS)) jobs.push({ atS, costS: costOf(stepsOf(random)) });
  }
  return { name, what, lengthS, jobs, loadAt };
}

function stepsOf(random: Random): number {
  let left = random.next();
  for (const [share, steps] of MIX) {
    left -= share;
    if (left < 0) return steps;
  }
  return MIX[0][1];
}

export const curves = (): readonly Curve[] => [
  curveOf('day', 'a day: quiet at night, up to 12 workers of work at noon', 24 * HOUR_S, 11, (second) => {
    const phase = (2 * Math.PI * (second / HOUR_S - 14)) / 24;
    return Math.max(0.05, 5 + 7 * Math.cos(phase));
  }),
  curveOf('ramp', 'from 1 worker of work to 12 and back, in 20 minutes each', 2 * HOUR_S, 12, (second) => {
    const up = Math.min(1, Math.max(0, (second - 1800) / 1200));
    const down = Math.min(1, Math.max(0, (second - 4200) / 1200));
    return 1 + 11 * (up - down);
  }),
  curveOf(
    'bursts',
    '1 worker of work, and ten times as much for 2 minutes of every 20',
    4 * HOUR_S,
    13,
    (second) => (second % 1200 >= 600 && second % 1200 < 720 ? 10 : 1),
  ),
  curveOf(
    'seldom',
    'nothing for most of the time, and a few jobs every half hour',
    8 * HOUR_S,
    14,
    (second) => (second % 1800 < 120 ? 1.5 : 0.0005),
  ),
];

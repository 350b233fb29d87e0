/** What 1 to 1,000 cards behind one queue let a job wait, simulated. The figures of lab/capacity.md. */
import { DEVICES } from './capacity/assumptions.ts';
import { type FleetWaits, simulateCards } from './capacity/simulated-fleet.ts';
import type { Chart } from './charts.ts';
import { rounded } from './charts.ts';
import { percentile, type SampledFigure } from './harness.ts';

const [T4, A100] = DEVICES;
const SIZES = [1, 10, 100, 1000];
const LOADS = [0.5, 0.7, 0.85, 0.95];
const JOBS_OF_A_CARD = 400;
const MOST_JOBS = 12_000;

const known = new Map<string, FleetWaits>();

function waits({ name, card, rowCap }: (typeof DEVICES)[number], cards: number, load: number): FleetWaits {
  const key = `${name} ${cards} ${load}`;
  const jobs = Math.min(MOST_JOBS, JOBS_OF_A_CARD * Math.max(5, cards));
  const result = known.get(key) ?? simulateCards({ card, rowCap, cards, load, jobs });
  known.set(key, result);
  return result;
}

const mean = (values: readonly number[]): number =>
  values.reduce((sum, each) => sum + each, 0) / values.length;

const figure = (
  device: (typeof DEVICES)[number],
  cards: number,
  load: number,
  what: string,
  unit: string,
  value: (waits: FleetWaits) => number,
): SampledFigure => ({
  kind: 'sampled',
  name: `${device.name} x ${cards}, load ${load}: ${what}`,
  unit,
  percentile: 50,
  device: `simulated ${device.name}`,
  open: async () => ({ samples: async () => [value(waits(device, cards, load))], close: async () => {} }),
});

export const figures: readonly SampledFigure[] = [T4, A100].flatMap((device) =>
  SIZES.flatMap((cards) =>
    LOADS.flatMap((load) => [
      figure(device, cards, load, 'mean slowdown', 'x alone', ({ slowdowns }) => mean(slowdowns)),
      figure(
        device,
        cards,
        load,
        'p95 of latency',
        's',
        ({ latenciesMs }) => percentile(latenciesMs, 95) / 1000,
      ),
    ]),
  ),
);

export const charts = (): Chart[] =>
  [T4, A100].map((device) => ({
    part: 'scale',
    kind: 'lines',
    device: `simulated ${device.name}`,
    title: `${device.name}: mean slowdown of fleets`,
    about:
      'Equal cards behind one queue, the mix of 4, 20 and 50 steps. The more cards, the more of them can be used.',
    x: { label: 'load, as a share of what all cards can do' },
    y: { label: 'times alone', isLog: true },
    series: SIZES.map((cards) => ({
      name: cards === 1 ? 'one card' : `${cards} cards`,
      points: LOADS.map((load): [number, number] => [
        load,
        rounded(mean(waits(device, cards, load).slowdowns)),
      ]),
    })),
  }));

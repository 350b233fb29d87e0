/** Figures and lines of a scenario, Lehr beside the usual micro-batcher. */
import type { Series, SeriesRole } from '../charts.ts';
import type { RatioFigure } from '../harness.ts';
import { meanSlowdown, p99OfSteps, throughput } from './measures.ts';
import { type PolicyRun, runBoth } from './run-both.ts';
import type { Scenario } from './scenarios.ts';

export const figureOf = (
  scenario: Scenario,
  what: string,
  unit: string,
  value: (run: PolicyRun) => number,
  atMost?: number,
) =>
  ({
    kind: 'ratio',
    name: `${scenario.name}: ${what}`,
    unit,
    device: `simulated ${scenario.device.name}`,
    rounds: 1,
    warmUps: 0,
    ...(atMost !== undefined && { target: { atMost } }),
    open: async () => {
      const { lehr, classic } = await runBoth(scenario);
      return { ours: () => value(lehr), baseline: () => value(classic), close: async () => {} };
    },
  }) satisfies RatioFigure;

export const SIDES: readonly {
  readonly side: 'lehr' | 'classic';
  readonly name: string;
  readonly role: SeriesRole;
}[] = [
  { side: 'lehr', name: 'Lehr', role: 'lehr' },
  { side: 'classic', name: 'classic micro-batcher', role: 'baseline' },
];

export async function linesOf(
  scenario: Scenario,
  points: (run: PolicyRun) => Series['points'],
): Promise<Series[]> {
  const runs = await runBoth(scenario);
  return SIDES.map(({ side, name, role }) => ({ name, role, points: points(runs[side]) }));
}

export const figuresOf = (scenario: Scenario): RatioFigure[] => [
  figureOf(scenario, 'mean slowdown', 'x alone', meanSlowdown, 1),
  figureOf(scenario, 'pictures per second', 'pictures/s', throughput),
  ...(scenario.hasMix ? [figureOf(scenario, 'p99 of 4-step jobs', 'ms', p99OfSteps(4))] : []),
];

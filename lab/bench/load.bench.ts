/**
 * Lehr's order of work beside that of the usual micro-batcher on a simulated T4 in virtual time: users in closed loops, a burst, and a day.
 */
import { type Chart, distribution, rounded } from './charts.ts';
import type { RatioFigure } from './harness.ts';
import { T4 } from './policy/devices.ts';
import { figuresOf, linesOf } from './policy/load-figures.ts';
import { latencies } from './policy/measures.ts';
import type { PolicyRun } from './policy/run-both.ts';
import { burst, closedLoop, closedLoopOfSizes, dayOf, type Scenario } from './policy/scenarios.ts';

const MOST_ROWS = 16;

const scenarios: readonly Scenario[] = [
  closedLoop(T4, 1),
  closedLoop(T4, 8),
  closedLoopOfSizes(T4, 8),
  burst(T4, 64),
  dayOf(T4),
];

export const figures: readonly RatioFigure[] = scenarios.flatMap(figuresOf);

export async function charts(): Promise<Chart[]> {
  return [
    await rowsOverTime(closedLoop(T4, 8)),
    await rowsOverTime(burst(T4, 64)),
    {
      part: 'waits',
      kind: 'lines',
      device: 'simulated T4',
      title: 'T4: latency of eight users',
      about:
        'The classic load test: a user more every 50 s, each posts the next picture when the last one is there.',
      x: { label: 'seconds' },
      y: { label: '% of jobs at most so slow' },
      series: await linesOf(closedLoop(T4, 8), (run) => distribution(latencies(run).map((ms) => ms / 1000))),
    },
  ];
}

const MOST_POINTS = 150;

async function rowsOverTime(scenario: Scenario): Promise<Chart> {
  const points = ({ steps }: PolicyRun): [number, number][] => {
    const size = Math.max(1, Math.ceil(steps.length / MOST_POINTS));
    const parts = Array.from({ length: Math.ceil(steps.length / size) }, (_, i) =>
      steps.slice(i * size, (i + 1) * size),
    );
    return parts.map((part) => [
      rounded(part[0].atMs / 1000),
      rounded(part.reduce((sum, { rows }) => sum + rows, 0) / part.length),
    ]);
  };
  return {
    part: 'batches',
    kind: 'lines',
    device: `simulated ${scenario.device.name}`,
    title: scenario.name,
    about: `The mean of neighbouring calls. Lehr caps rows at what the device gains from (${scenario.device.name} gains next to nothing above 4); classic takes up to ${MOST_ROWS}.`,
    x: { label: 'seconds' },
    y: { label: 'rows per call' },
    series: await linesOf(scenario, points),
  };
}

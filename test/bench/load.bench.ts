/**
 * Lehr's order of work beside that of the usual micro-batcher under loads of every kind, on simulated devices in virtual time: Poisson
 * arrivals from little to too much, users in closed loops, a burst, and a day.
 */
import type { Chart, Series, SeriesRole } from './charts.ts';
import { distribution, rounded } from './charts.ts';
import type { RatioFigure } from './harness.ts';
import { A100, H100, T4 } from './policy/devices.ts';
import { stepMs } from './policy/load.ts';
import { latencies, meanSlowdown, p99OfSteps, slowdowns, throughput } from './policy/measures.ts';
import { type PolicyRun, runBoth } from './policy/run-both.ts';
import { burst, closedLoop, dayOf, poisson, type Scenario } from './policy/scenarios.ts';

const DEVICES = [T4, A100, H100];
const LOADS = [0.2, 0.4, 0.6, 0.75, 0.85, 0.95, 1.1, 1.3];
const USUAL = 0.85;
const MOST_ROWS = 16;

const scenarios: readonly Scenario[] = [
  closedLoop(T4, 1),
  closedLoop(T4, 8),
  burst(T4, 64),
  dayOf(T4),
  ...DEVICES.map((device) => poisson(device, USUAL)),
];

const figureOf = (
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

export const figures: readonly RatioFigure[] = scenarios.flatMap((scenario) => [
  figureOf(scenario, 'mean slowdown', 'x alone', meanSlowdown, 1),
  figureOf(scenario, 'pictures per second', 'pictures/s', throughput),
  ...(scenario.hasMix ? [figureOf(scenario, 'p99 of 4-step jobs', 'ms', p99OfSteps(4))] : []),
]);

const SIDES: readonly {
  readonly side: 'lehr' | 'classic';
  readonly name: string;
  readonly role: SeriesRole;
}[] = [
  { side: 'lehr', name: 'Lehr', role: 'lehr' },
  { side: 'classic', name: 'classic micro-batcher', role: 'baseline' },
];

async function linesOf(scenario: Scenario, points: (run: PolicyRun) => Series['points']): Promise<Series[]> {
  const runs = await runBoth(scenario);
  return SIDES.map(({ side, name, role }) => ({ name, role, points: points(runs[side]) }));
}

export async function charts(): Promise<Chart[]> {
  const all: Chart[] = [];
  for (const device of DEVICES) {
    const head = { kind: 'lines', device: `simulated ${device.name}` } as const;
    const each = await Promise.all(
      LOADS.map(async (load) => ({ load, ...(await runBoth(poisson(device, load))) })),
    );
    const overLoad = (value: (run: PolicyRun) => number): Series[] =>
      SIDES.map(({ side, name, role }) => ({
        name,
        role,
        points: each.map((runs): [number, number] => [runs.load, rounded(value(runs[side]))]),
      }));
    const x = { label: 'asked for, as a share of what the device can do' };
    all.push(
      {
        ...head,
        part: 'load',
        title: `${device.name}: pictures per second`,
        about:
          'Mix of 4, 20 and 50 steps, three guidance scales, Poisson arrivals. The count ends with the last picture, so a queue that has to be worked off at the end lowers it.',
        x,
        y: { label: 'pictures per second' },
        series: overLoad(throughput),
      },
      {
        ...head,
        part: 'load',
        title: `${device.name}: mean slowdown`,
        about: 'Latency over the time that the job takes alone; the same jobs.',
        x,
        y: { label: 'times alone', isLog: true },
        series: overLoad(meanSlowdown),
      },
      {
        ...head,
        part: 'waits',
        title: `${device.name}: slowdown at ${USUAL} of its load`,
        about: 'The same mix.',
        x: { label: 'times alone', isLog: true },
        y: { label: '% of jobs at most so slow' },
        series: await linesOf(poisson(device, USUAL), (run) => distribution(slowdowns(run))),
      },
    );
  }
  all.push(
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
    {
      part: 'device',
      kind: 'lines',
      device: 'simulated',
      title: 'Time of a step over its rows, published devices',
      about:
        'The curves of the simulation: T4 and A100 with Stable Diffusion 1.5, and an H200 with the larger Qwen-Image as the H100.',
      x: { label: 'rows' },
      y: { label: 'ms per row', isLog: true },
      series: DEVICES.map(({ name, latency }) => ({
        name,
        points: [1, 2, 4, 6, 8, 12, 16, 24, 32].map((rows): [number, number] => [
          rows,
          rounded(stepMs(latency, rows) / rows),
        ]),
      })),
    },
  );
  return all;
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

/** Lehr's order of work beside that of the usual micro-batcher under Poisson arrivals from little to too much, on simulated devices. */
import { type Chart, distribution, rounded, type Series } from './charts.ts';
import type { RatioFigure } from './harness.ts';
import { A100, H100, T4 } from './policy/devices.ts';
import { stepMs } from './policy/load.ts';
import { figuresOf, linesOf, SIDES } from './policy/load-figures.ts';
import { meanSlowdown, slowdowns, throughput } from './policy/measures.ts';
import { type PolicyRun, runBoth } from './policy/run-both.ts';
import { poisson, poissonOfSizes } from './policy/scenarios.ts';

const DEVICES = [T4, A100, H100];
const LOADS = [0.3, 0.5, 0.7, 0.85, 1, 1.2];
const USUAL = 0.85;

export const figures: readonly RatioFigure[] = DEVICES.flatMap((device) =>
  [poisson(device, USUAL), poissonOfSizes(device, USUAL)].flatMap(figuresOf),
);

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
  all.push({
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
  });
  return all;
}

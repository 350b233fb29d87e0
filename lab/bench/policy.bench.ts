/**
 * Lehr's policy beside that of the usual micro-batcher ("classic"), both on Lehr's engine, on simulated devices in virtual time:
 * the figures do not depend on the machine, and one round is one seed of the arrivals. A step of r rows takes a + b * r ms. T4: published
 * times of Stable Diffusion 1.5 at 512x512. U8, U16: times measured on two cores, of UNets with latents of 8x8 and 16x16.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeTinyDiffusion } from '../../packages/demo-models/src/index.ts';
import { percentile, type RatioFigure, type Target } from './harness.ts';
import { type Device, scaledWindowMs, T4, U8, U16 } from './policy/devices.ts';
import type { Ended } from './policy/endings.ts';
import { aloneMs, backlog, capacity, type PolicyJob, poissonMix } from './policy/load.ts';
import { classic, lehr } from './policy/sides.ts';

const JOBS = 500;
const LOAD = 0.85;
const ROUNDS = 5;
const MOST_ROWS = 16;
const BACKLOG = 256;
const WINDOW_MS = 500;

type Sides = { readonly ours: readonly Ended[]; readonly baseline: readonly Ended[] };
type Measure = (ended: readonly Ended[], device: Device) => number;

/** Both policies get the same jobs; a run is made once for all of its figures. */
const runs = new Map<string, Promise<Sides>>();

async function withFolder<Result>(work: (folder: string) => Promise<Result>): Promise<Result> {
  const folder = await mkdtemp(join(tmpdir(), 'lehr-policy-'));
  try {
    await writeTinyDiffusion(folder, { seed: 5, timestepType: 'float32' });
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function both(key: string, device: Device, windowMs: number, jobs: readonly PolicyJob[]): Promise<Sides> {
  const known = runs.get(key);
  if (known) return known;
  const run = withFolder(async (folder) => {
    const options = { folder, device: device.latency };
    return { ours: await lehr(options, jobs), baseline: await classic({ ...options, windowMs }, jobs) };
  });
  runs.set(key, run);
  return run;
}

interface FigureOptions {
  readonly name: string;
  readonly unit: string;
  readonly target?: Target;
  readonly device: Device;
  readonly windowMs: number;
  readonly load: string;
  readonly jobs: (round: number) => readonly PolicyJob[];
  readonly rounds?: number;
  readonly measure: Measure;
}

function figure({
  device,
  windowMs,
  load,
  jobs,
  measure,
  rounds = ROUNDS,
  ...head
}: FigureOptions): RatioFigure {
  return {
    ...head,
    kind: 'ratio',
    device: `simulated ${device.name}`,
    rounds,
    warmUps: 0,
    open: async () => {
      const counts = { ours: 0, baseline: 0 };
      const side = async (name: 'ours' | 'baseline'): Promise<number> => {
        const round = counts[name]++;
        const key = `${device.name} ${load} ${windowMs} ${round}`;
        return measure((await both(key, device, windowMs, jobs(round)))[name], device);
      };
      return { ours: () => side('ours'), baseline: () => side('baseline'), close: async () => {} };
    },
  };
}

const latencyMs = ({ job, endedAt }: Ended): number => endedAt - job.arrivesAt;
const meanOf = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;
const slowdown: Measure = (ended, { latency }) =>
  meanOf(ended.map((each) => latencyMs(each) / aloneMs(latency, each.job)));
const mean: Measure = (ended) => meanOf(ended.map(latencyMs));
const p99 =
  (steps?: number): Measure =>
  (ended) =>
    percentile(ended.filter(({ job }) => steps === undefined || job.steps === steps).map(latencyMs), 99);
const perSecond: Measure = (ended) =>
  (1000 * ended.length) / Math.max(...ended.map(({ endedAt }) => endedAt));

/**
 * At most so much of classic. The goals of the T4 follow from the lag that ships (fair-wait.lua), which was chosen on the curve in
 * performance.md, "Short jobs first".
 */
interface MixGoals {
  readonly slowdown: number;
  readonly shortP99?: number;
  readonly allP99?: number;
}

/** Every figure is Lehr over classic. */
function mixFigures(
  device: Device,
  tenants: number,
  windowMs: number,
  { slowdown: meanSlowdown, shortP99 = 1 / 6, allP99 = 1 }: MixGoals,
): RatioFigure[] {
  const load = `mix ${tenants}`;
  const callers = tenants === 1 ? 'one tenant' : `${tenants} tenants`;
  const jobs = (round: number): readonly PolicyJob[] =>
    poissonMix(JOBS, LOAD * capacity(device.latency, MOST_ROWS), { seed: round + 1, tenants });
  const window = `window ${Math.round(windowMs)} ms`;
  const base = { device, windowMs, load, jobs };
  const name = (what: string): string => `${device.name}, ${callers}, ${window}: ${what}`;
  return [
    figure({
      ...base,
      name: name('mean slowdown'),
      unit: 'x alone',
      measure: slowdown,
      target: { atMost: meanSlowdown },
    }),
    figure({ ...base, name: name('mean latency'), unit: 'ms', measure: mean }),
    figure({
      ...base,
      name: name('p99 of 4-step jobs'),
      unit: 'ms',
      measure: p99(4),
      target: { atMost: shortP99 },
    }),
    figure({ ...base, name: name('p99 of 50-step jobs'), unit: 'ms', measure: p99(50) }),
    figure({
      ...base,
      name: name('p99 of all jobs'),
      unit: 'ms',
      measure: p99(),
      target: { atMost: allP99 },
    }),
  ];
}

const saturated = (device: Device, scales: number, atLeast: number): RatioFigure =>
  figure({
    name: `${device.name}, ${BACKLOG} jobs at once, ${scales === 1 ? 'equal guidance' : 'each its own guidance'}: pictures per second`,
    unit: 'pictures/s',
    device,
    windowMs: WINDOW_MS,
    load: `backlog ${scales}`,
    jobs: () => backlog(BACKLOG, scales),
    rounds: 1,
    measure: perSecond,
    target: { atLeast },
  });

/** A job of 50 steps runs, and the lane has room for another one, which arrives meanwhile. */
const late: RatioFigure = figure({
  name: 'T4, a job that arrives while another one runs: time to its first step',
  unit: 'ms',
  device: T4,
  windowMs: WINDOW_MS,
  load: 'late',
  jobs: () => [
    ...backlog(1, 1).map((job) => ({ ...job, steps: 50 })),
    { id: 1, arrivesAt: 2700, steps: 4, guidance: 5, tenant: 'late' },
  ],
  rounds: 1,
  measure: (ended) => {
    const [{ job, startedAt }] = ended.filter(({ job: { tenant } }) => tenant === 'late');
    return startedAt - job.arrivesAt;
  },
  target: { atMost: 1 / 10 },
});

export const figures: readonly RatioFigure[] = [
  // A sixth needs a lag that puts the p99 of all jobs above that of classic.
  ...mixFigures(T4, 1, WINDOW_MS, { slowdown: 1 / 1.8, shortP99: 0.2 }),
  // Fair queueing between tenants gives 1.26 without any lag: letting short jobs go first must add nothing to it.
  ...mixFigures(T4, 20, WINDOW_MS, { slowdown: 1 / 1.8, allP99: 1.26 }),
  ...mixFigures(U16, 1, scaledWindowMs(U16), { slowdown: 1 / 2.1 }),
  ...mixFigures(U8, 1, scaledWindowMs(U8), { slowdown: 1 / 2.7 }),
  // The row cap may give up 3 % of the throughput for shorter steps.
  saturated(T4, 1, 0.97),
  saturated(U8, 1, 0.98),
  saturated(U8, BACKLOG, 1.7),
  saturated(U16, BACKLOG, 1.25),
  late,
];

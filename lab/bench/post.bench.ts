/**
 * How fast API processes accept jobs, with all checks, estimates and writes: beside a bare BullMQ `add`, and beside the thinnest API that
 * makes the same promise.
 */
import type { StackChart } from './charts.ts';
import type { Figure, RatioFigure, SampledFigure } from './harness.ts';
import { openApiProcesses } from './post-processes.ts';
import { type OneRate, openPostRate, type PostRate, type Rate } from './post-rate.ts';

const ROUNDS = 7;
const CPU_ROUNDS = 9;

const perSecond = (rate: Rate): number => rate.perSecond;
const perCpu = ({ cpuMs }: Rate): number => 1000 / cpuMs;
const perAllCpu = ({ cpuMs, redisMs }: OneRate): number => 1000 / (cpuMs + redisMs);

const over = (
  other: 'add' | 'thin',
  name: string,
  value: (rate: OneRate) => number,
  atLeast?: number,
): RatioFigure => ({
  kind: 'ratio',
  name,
  unit: 'jobs/s',
  ...(atLeast !== undefined && { target: { atLeast } }),
  rounds: ROUNDS,
  open: async () => {
    const rate = await openPostRate();
    return {
      ours: async () => value(await rate.post()),
      baseline: async () => value(await rate[other]()),
      close: rate.close,
    };
  },
});

/** CPU ms of a job in this process, which also holds the server; of each side, for the chart. */
const cpu: Record<'post' | 'thin' | 'add', number[]> = { post: [], thin: [], add: [] };

const cpuFigure: SampledFigure = {
  kind: 'sampled',
  name: 'CPU of one POST /v1/jobs in the API process, of the kernel as well',
  unit: 'ms',
  percentile: 50,
  target: { atMost: 0.15 },
  open: async () => {
    const rate = await openPostRate();
    const sides = ['post', 'thin', 'add'] as const satisfies readonly (keyof PostRate)[];
    return {
      samples: async () => {
        for (let round = -1; round < CPU_ROUNDS; round++) {
          for (const side of sides) {
            const { cpuMs } = await rate[side]();
            if (round >= 0) cpu[side].push(cpuMs);
          }
        }
        return cpu.post;
      },
      close: rate.close,
    };
  },
};

const twoOverOne = (
  name: string,
  unit: string,
  atLeast: number,
  value: (rate: Rate) => number,
): RatioFigure => ({
  kind: 'ratio',
  name,
  unit,
  target: { atLeast },
  rounds: ROUNDS,
  open: async () => {
    const processes = await openApiProcesses(2);
    return {
      ours: async () => value(await processes.post(2)),
      baseline: async () => value(await processes.post(1)),
      close: processes.close,
    };
  },
});

export const figures: readonly Figure[] = [
  over('add', "POST /v1/jobs on one API process over BullMQ's own add", perSecond, 0.5),
  over('thin', 'POST /v1/jobs on one API process over the thinnest API', perSecond, 0.5),
  over('thin', 'POST /v1/jobs per CPU second of the API process, over the thinnest API', perCpu, 0.5),
  over('thin', 'POST /v1/jobs per CPU second of API and Redis, over the thinnest API', perAllCpu),
  cpuFigure,
  twoOverOne('POST /v1/jobs, two API processes over one', 'jobs/s', 1.8, perSecond),
  twoOverOne('POST /v1/jobs per CPU second of the API, two processes over one', 'jobs/s', 0.9, perCpu),
];

const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1];

export function charts(): StackChart[] {
  const bars = [
    { name: 'BullMQ add', side: cpu.add },
    { name: 'thinnest API', side: cpu.thin },
    { name: 'POST /v1/jobs', side: cpu.post },
  ];
  return [
    {
      part: 'cost',
      kind: 'stack',
      title: 'CPU of accepting one job',
      about:
        'Of the process that accepts it, with its kernel time. The thinnest API parses the same body with zod, checks a key, and awaits one BullMQ add; it has no record, admission, quota, fairness or duplicate detection.',
      x: { label: 'ms of CPU' },
      bars: bars.map(({ name, side }) => ({ name, parts: [{ name: 'CPU', value: median(side) }] })),
    },
  ];
}

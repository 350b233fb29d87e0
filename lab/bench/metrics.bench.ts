/** What metrics cost API and worker, and what traces cost the pictures. */

import { startCollector } from './collector.ts';
import type { Figure, RatioFigure } from './harness.ts';
import { benchModels } from './models.ts';
import { type Picture, startWholeLehr } from './whole-lehr.ts';

const SWITCH = new URL('./metrics-switch.mjs', import.meta.url).href;
/** In two full batches. */
const PICTURES = 16;
const SCRAPES = 40;
/** Many short rounds: the CPU time of one differs by a tenth and more, and a hundredth is to be seen. */
const ROUNDS = 201;
const JOBS = 500;

/** How often the calls of one round are made again: each takes about a microsecond. */
const REPEATS = 200;

const { switchMetrics, recordCalls } = (await import(SWITCH)) as {
  switchMetrics(isOn: boolean): void;
  recordCalls(): (() => void)[];
};
// After the switch, which must see every instrument.
const { openPostRate } = await import('./post-rate.ts');

const pictures: readonly Picture[] = Array.from({ length: PICTURES }, (_, seed) => ({
  prompt: `a red circle on a blue background, number ${seed}`,
  steps: 20,
  guidance: 5,
  seed,
  width: 128,
  height: 128,
}));

/** Pictures per second of two installations that differ in these variables. */
async function besides(ours: Record<string, string>, baseline: Record<string, string>) {
  const models = await benchModels();
  const env = { LEHR_ROW_CAP: '16', LEHR_TASKS: 'diffusion', LEHR_DEVICE: 'cpu', LEHR_MODELS: models.file };
  const one = await startWholeLehr({ ...env, ...ours });
  const other = await startWholeLehr({ ...env, ...baseline });
  const rate = async (lehr: typeof one): Promise<number> => (PICTURES / (await lehr.draw(pictures))) * 1000;
  return {
    ours: () => rate(one),
    baseline: () => rate(other),
    close: async () => {
      await Promise.all([one.close(), other.close()]);
      await models.remove();
    },
  };
}

const pictureFigure = (name: string, atLeast: number, open: RatioFigure['open']): RatioFigure => ({
  kind: 'ratio',
  name,
  unit: 'pictures/s',
  target: { atLeast },
  rounds: 15,
  open,
});

/** CPU ms of the calls of instruments for one job: those of a real round, made again and again. */
function replayed(calls: readonly (() => void)[]): number {
  const cpu = process.cpuUsage();
  for (let i = 0; i < REPEATS; i += 1) for (const call of calls) call();
  const { user, system } = process.cpuUsage(cpu);
  return (user + system) / 1000 / REPEATS / JOBS;
}

export const figures: readonly Figure[] = [
  {
    kind: 'ratio',
    name: 'CPU of the calls of instruments for a job, over that of POST /v1/jobs without them',
    unit: 'ms',
    target: { atMost: 0.01 },
    open: async () => {
      const { post, close } = await openPostRate({ jobs: JOBS });
      await post();
      const calls = recordCalls();
      await post();
      switchMetrics(true);
      return {
        ours: () => replayed(calls),
        baseline: async () => {
          switchMetrics(false);
          const { cpuMs } = await post();
          switchMetrics(true);
          return cpuMs;
        },
        close,
      };
    },
  },
  {
    kind: 'ratio',
    name: 'CPU of POST /v1/jobs, with metrics over without',
    unit: 'ms',
    target: { atMost: 1.01 },
    rounds: ROUNDS,
    open: async () => {
      const { post, close } = await openPostRate({ jobs: JOBS });
      const posted = async (isOn: boolean): Promise<number> => {
        switchMetrics(isOn);
        return (await post()).cpuMs;
      };
      return { ours: () => posted(true), baseline: () => posted(false), close };
    },
  },
  {
    kind: 'sampled',
    name: 'CPU of one scrape of the API, median',
    unit: 'ms',
    // A thousandth of the 15 s between two scrapes.
    target: { atMost: 15 },
    percentile: 50,
    open: async () => {
      const { post, scrape, close } = await openPostRate();
      await post();
      return {
        samples: async () => {
          const ms: number[] = [];
          for (let i = 0; i < SCRAPES; i += 1) ms.push(await scrape());
          return ms;
        },
        close,
      };
    },
  },
  pictureFigure(`pictures/s, ${PICTURES} jobs at once, with metrics over without`, 0.99, () =>
    besides({}, { NODE_OPTIONS: `--import=${SWITCH}?off` }),
  ),
  pictureFigure(`pictures/s, ${PICTURES} jobs at once, a tenth traced over none`, 0.98, async () => {
    const collector = await startCollector();
    const sides = await besides({ ...collector.env }, {});
    return {
      ...sides,
      close: async () => {
        await sides.close();
        collector.stop();
      },
    };
  }),
];

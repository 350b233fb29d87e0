/** From the last step of a picture to the answer of the client that waits for it, less the decode on the device and the store's write. */
import { type Chart, distribution } from './charts.ts';
import type { SampledFigure } from './harness.ts';
import { benchModels } from './models.ts';
import { startWholeLehr, type WholeLehr } from './whole-lehr.ts';

const WARM_UP = 10;
const SAMPLES = 250;
const taken: number[] = [];

/** Ms between both ends by the clock of this machine, less what the job says of its own parts. */
async function answerMs(lehr: WholeLehr, seed: number): Promise<number> {
  const job = await lehr.run('text-to-image', {
    prompt: 'a red circle on a blue background',
    seed,
    steps: 2,
    guidance: 5,
    width: 64,
    height: 64,
  });
  const answeredAt = Date.now();
  const timings = job.metrics?.timings;
  if (!timings || !('denoise' in timings)) throw new Error('the job has no timings of a picture');
  const { queued, admitted, text, denoise, decode, upload } = timings;
  const untilLastStep = queued + admitted + text + denoise;
  return answeredAt - Date.parse(job.created_at) - untilLastStep - decode - upload;
}

export const figures: readonly SampledFigure[] = [
  {
    kind: 'sampled',
    name: "from the last step to the long-polling client's answer, less decode and the store's write, p99",
    unit: 'ms',
    percentile: 99,
    target: { atMost: 25 },
    open: async () => {
      const models = await benchModels();
      const lehr = await startWholeLehr({
        LEHR_MODELS: models.file,
        LEHR_TASKS: 'diffusion',
        LEHR_DEVICE: 'cpu',
      });
      return {
        samples: async () => {
          for (let i = 0; i < WARM_UP; i++) await answerMs(lehr, i);
          for (let i = 0; i < SAMPLES; i++) taken.push(await answerMs(lehr, i));
          return taken;
        },
        close: async () => {
          await lehr.close();
          await models.remove();
        },
      };
    },
  },
];

export const charts = (): Chart[] => [
  {
    part: 'waits',
    kind: 'lines',
    title: "From the last step to the caller's answer",
    about: `${SAMPLES} pictures one after the other, through all of Lehr; less the decode on the device and the store's write.`,
    x: { label: 'ms' },
    y: { label: '% of jobs at most so slow' },
    series: [{ name: 'Lehr', role: 'lehr', points: distribution(taken) }],
  },
];

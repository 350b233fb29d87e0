/** What checkpoints cost: the same pictures of the demo model with and without them. */
import { demoModelsFile } from '../../packages/demo-models/src/index.ts';
import type { RatioFigure } from './harness.ts';
import { type Picture, startWholeLehr } from './whole-lehr.ts';

const COUNT = 4;
const STEPS = 30;

const pictures: readonly Picture[] = Array.from({ length: COUNT }, (_, seed) => ({
  prompt: `a red circle on a blue background, number ${seed}`,
  steps: STEPS,
  guidance: 5,
  seed,
  width: 256,
  height: 256,
}));

const start = (everySteps: number) =>
  startWholeLehr({
    LEHR_MODELS: demoModelsFile(),
    LEHR_TASKS: 'diffusion',
    LEHR_DEVICE: 'cpu',
    LEHR_ROW_CAP: `${2 * COUNT}`,
    LEHR_CHECKPOINT_STEPS: `${everySteps}`,
  });

export const figures: readonly RatioFigure[] = [
  {
    kind: 'ratio',
    name: `steps/s of the demo model with a checkpoint every 5 steps over none, ${COUNT} pictures at once`,
    unit: 'steps/s',
    target: { atLeast: 0.98 },
    rounds: 9,
    open: async () => {
      const [withThem, without] = [await start(5), await start(0)];
      const stepsPerS = async (lehr: typeof withThem): Promise<number> =>
        ((COUNT * STEPS) / (await lehr.draw(pictures))) * 1000;
      return {
        ours: () => stepsPerS(withThem),
        baseline: () => stepsPerS(without),
        close: async () => {
          await Promise.all([withThem.close(), without.close()]);
        },
      };
    },
  },
];

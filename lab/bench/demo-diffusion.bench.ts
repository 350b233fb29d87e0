/** How well the demo model draws prompts that it was not trained on, and how long one picture takes. */
import { heldOutPrompts, type Measure, type Tally } from '../../test/support/scene-checker.ts';
import { startDemoLehr } from './demo-lehr.ts';
import type { Figure, RatioFigure, SampledFigure, Target } from './harness.ts';

const MEASURES: readonly { measure: Measure; name: string; target?: Target }[] = [
  { measure: 'background', name: 'background', target: { atLeast: 0.98 } },
  { measure: 'colours', name: 'all object colours', target: { atLeast: 0.95 } },
  { measure: 'shapes', name: 'all shapes', target: { atLeast: 0.9 } },
  { measure: 'relation', name: 'the relation, where one is stated,', target: { atLeast: 0.9 } },
  { measure: 'sizes', name: 'all sizes' },
  { measure: 'all', name: 'all of that but sizes' },
];
const PICTURES = 9;

let drawn: Promise<Tally> | undefined;

/** Drawn once for all measures. */
async function draw(): Promise<Tally> {
  const demo = await startDemoLehr();
  try {
    return await demo.check(heldOutPrompts);
  } finally {
    await demo.close();
  }
}

/** The ratio is right pictures over prompts. One round is enough, because the seeds are fixed. */
const quality = MEASURES.map(
  ({ measure, name, target }): RatioFigure => ({
    kind: 'ratio',
    name: `demo-diffusion, held-out prompts, ${name} right`,
    unit: 'prompts',
    ...(target && { target }),
    rounds: 1,
    warmUps: 0,
    open: async () => {
      drawn ??= draw();
      const { right, asked } = (await drawn)[measure];
      return { ours: () => right, baseline: () => asked, close: async () => {} };
    },
  }),
);

const wait: SampledFigure = {
  kind: 'sampled',
  name: 'demo-diffusion: one picture of 256x256, 20 steps with guidance, request to answer, nothing else to do',
  unit: 's',
  percentile: 50,
  target: { atMost: 3 },
  open: async () => {
    const demo = await startDemoLehr();
    const seconds = async (seed: number): Promise<number> => {
      const prompt = 'a red circle to the left of a small yellow star on a blue background';
      return (await demo.time({ prompt, seed, width: 256, height: 256, steps: 20, guidance: 5 })) / 1000;
    };
    return {
      samples: async () => {
        const taken: number[] = [];
        for (let seed = 0; seed <= PICTURES; seed++) taken.push(await seconds(seed));
        return taken.slice(1);
      },
      close: demo.close,
    };
  },
};

export const figures: readonly Figure[] = [...quality, wait];

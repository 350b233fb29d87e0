/** How well the demo model draws what it was never trained on, and how long a laptop's user waits for a picture. */
import { heldOutPrompts, type Measure } from '../support/scene-checker.ts';
import { startDemoLehr } from './demo-lehr.ts';
import type { SampledFigure, Target } from './harness.ts';

const MEASURES: readonly { measure: Measure; name: string; target?: Target }[] = [
  { measure: 'background', name: 'background', target: { atLeast: 98 } },
  { measure: 'colours', name: 'all object colours', target: { atLeast: 95 } },
  { measure: 'shapes', name: 'all shapes', target: { atLeast: 90 } },
  { measure: 'relation', name: 'relation, where one is stated', target: { atLeast: 90 } },
  { measure: 'sizes', name: 'all sizes' },
  { measure: 'all', name: 'all of them but sizes' },
];
const PICTURES = 9;

let scored: Promise<Readonly<Record<Measure, number>>> | undefined;

/** Drawn once for all measures. */
async function score(): Promise<Readonly<Record<Measure, number>>> {
  const demo = await startDemoLehr();
  try {
    return (await demo.check(heldOutPrompts)).shares;
  } finally {
    await demo.close();
  }
}

const quality = MEASURES.map(
  ({ measure, name, target }): SampledFigure => ({
    kind: 'sampled',
    name: `demo-diffusion, ${heldOutPrompts.length} held-out prompts: ${name} right`,
    unit: '%',
    percentile: 50,
    ...(target && { target }),
    open: async () => ({
      samples: async () => {
        scored ??= score();
        return [100 * (await scored)[measure]];
      },
      close: async () => {},
    }),
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

export const figures: readonly SampledFigure[] = [...quality, wait];

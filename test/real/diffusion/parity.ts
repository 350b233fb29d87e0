/** The same weights, prompts and seeds in Lehr, in diffusers on torch and in Optimum's pipeline: how far the pictures are apart. */
import {
  type DiffusersCase,
  type ExpectedPicture,
  relativeDistance,
} from '../../support/diffusion-fixtures.ts';
import type { Bench, Row } from '../section.ts';
import { aloneOf, drawWithLehr } from './draw-lehr.ts';
import { type Drawn, drawWith, type Engine, fullSize } from './full-size.ts';

/** Small, because a step of 512x512 takes ten seconds of two cores. The weights and the graphs are those of the full size. */
const SIZE = { width: 128, height: 128 };
const CASES: readonly DiffusersCase[] = [
  {
    name: 'guided',
    prompt: 'a red circle',
    negative_prompt: 'blue, blurred',
    sampler: 'euler',
    steps: 4,
    guidance: 7.5,
    seed: 1,
    ...SIZE,
  },
  {
    name: 'unguided',
    prompt: 'a cat',
    negative_prompt: null,
    sampler: 'ddim',
    steps: 4,
    guidance: 1,
    seed: 3,
    ...SIZE,
  },
];
const LAST = CASES[CASES.length - 1];
const OTHERS: readonly (readonly [Engine, string])[] = [
  ['torch', 'diffusers in torch'],
  ['onnx', "Optimum's pipeline"],
];
const LATENT = 1e-3;
const PIXEL = 2;

export async function parity(bench: Bench): Promise<readonly Row[]> {
  const folder = await fullSize(bench, 'sd15');
  bench.say('Lehr draws all in one batch, and one alone');
  const lehr = await drawWithLehr(folder, CASES);
  const rows: Row[] = [];
  for (const [engine, name] of OTHERS) {
    const drawnOf = await drawWith(bench, folder, engine, CASES);
    for (const each of CASES)
      rows.push(...differences(`${titleOf(each)}, ${name}`, await lehr(each), await drawnOf(each)));
    // torch has other kernels; Optimum's pipeline runs the same graphs with the same runtime.
    if (engine === 'onnx') rows.push(stepTime(name, await lehr(aloneOf(LAST)), await drawnOf(LAST)));
  }
  const distance = relativeDistance((await lehr(LAST)).latent, (await lehr(aloneOf(LAST))).latent);
  rows.push({
    what: `${titleOf(LAST)}: final latent from the batch and alone`,
    figure: distance.toExponential(1),
    wanted: '<= 1e-5',
    met: distance <= 1e-5,
  });
  return rows;
}

const stepTime = (name: string, ours: Drawn, theirs: Drawn): Row => ({
  what: `${titleOf(LAST)}, ${name}: CPU time of a step with one thread`,
  lehr: ours.step_cpu_seconds,
  other: theirs.step_cpu_seconds,
  unit: 's',
  figure: ours.step_cpu_seconds / theirs.step_cpu_seconds,
  note: `${LAST.steps} steps each, one program after the other`,
});

const titleOf = ({ sampler, steps, guidance, width, height }: DiffusersCase): string =>
  `${width}x${height}, ${steps} steps of ${sampler}, ${guidance === 1 ? 'no guidance' : `guidance ${guidance} with a negative prompt`}`;

function differences(what: string, ours: ExpectedPicture, expected: ExpectedPicture): Row[] {
  const distance = relativeDistance(ours.latent, expected.latent);
  let pixel = 0;
  for (const [i, value] of expected.pixels.entries())
    pixel = Math.max(pixel, Math.abs(value - ours.pixels[i]));
  return [
    {
      what: `${what}: relative distance of the final latents`,
      figure: distance.toExponential(1),
      wanted: '<= 1e-3',
      met: distance <= LATENT,
    },
    {
      what: `${what}: largest difference of a pixel, of 255`,
      figure: pixel,
      wanted: '<= 2',
      met: pixel <= PIXEL,
    },
  ];
}

/** The same weights, prompts and seeds in Lehr, in diffusers on torch and in Optimum's pipeline: how far the pictures are apart. */
import {
  type DiffusersCase,
  type ExpectedPicture,
  relativeDistance,
} from '../../../test/support/diffusion-fixtures.ts';
import type { Bench, Row } from '../section.ts';
import { aloneOf, drawWithLehr } from './draw-lehr.ts';
import { type Drawn, type DrawnOf, drawWith, type Engine, fullSize } from './full-size.ts';

/** Sides of 128 and 256, because a step of 512x512 takes ten seconds of two cores. The weights and the graphs are those of any size. */
const casesOf = (side: number, guidance: number): readonly DiffusersCase[] => [
  {
    name: 'guided',
    prompt: 'a red circle',
    negative_prompt: 'blue, blurred',
    sampler: 'euler',
    steps: 4,
    guidance,
    seed: 1,
    width: side,
    height: side,
  },
  {
    name: 'unguided',
    prompt: 'a cat',
    negative_prompt: null,
    sampler: 'ddim',
    steps: 4,
    guidance: 1,
    seed: 3,
    width: side,
    height: side,
  },
];
const OTHERS: readonly (readonly [Engine, string])[] = [
  ['torch', 'diffusers in torch'],
  ['onnx', "Optimum's pipeline"],
];
const LATENT = 1e-3;
const PIXEL = 2;

export const parity = (bench: Bench) => compare(bench, 'sd15', casesOf(128, 7.5));
export const parityOfVelocity = (bench: Bench) => compare(bench, 'sd21', casesOf(256, 7.5));
export const parityOfXl = (bench: Bench) => compare(bench, 'sdxl', casesOf(256, 5));

async function compare(
  bench: Bench,
  pipeline: string,
  cases: readonly DiffusersCase[],
): Promise<readonly Row[]> {
  const last = cases[cases.length - 1];
  const folder = await fullSize(bench, pipeline);
  bench.say('Lehr draws all in one batch, and one alone');
  const lehr = await drawWithLehr(folder, cases);
  const rows: Row[] = [];
  for (const [engine, name] of OTHERS) {
    const drawnOf = await drawWith(bench, folder, engine, cases);
    for (const each of cases)
      rows.push(...differences(`${titleOf(each)}, ${name}`, await lehr(each), await drawnOf(each)));
    // torch has other kernels; Optimum's pipeline runs the same graphs with the same runtime.
    if (engine === 'onnx') rows.push(stepTime(last, name, await lehr(aloneOf(last)), await drawnOf(last)));
  }
  return [...rows, await aloneRow(titleOf(last), last, lehr)];
}

export async function aloneRow(title: string, last: DiffusersCase, lehr: DrawnOf): Promise<Row> {
  const distance = relativeDistance((await lehr(last)).latent, (await lehr(aloneOf(last))).latent);
  return {
    what: `${title}: final latent from the batch and alone`,
    figure: distance.toExponential(1),
    wanted: '<= 1e-5',
    met: distance <= 1e-5,
  };
}

const stepTime = (last: DiffusersCase, name: string, ours: Drawn, theirs: Drawn): Row => ({
  what: `${titleOf(last)}, ${name}: CPU time of a step with one thread`,
  lehr: ours.step_cpu_seconds,
  other: theirs.step_cpu_seconds,
  unit: 's',
  figure: ours.step_cpu_seconds / theirs.step_cpu_seconds,
  note: `${last.steps} steps each, one program after the other`,
});

const titleOf = ({ sampler, steps, guidance, width, height }: DiffusersCase): string =>
  `${width}x${height}, ${steps} steps of ${sampler}, ${guidance === 1 ? 'no guidance' : `guidance ${guidance} with a negative prompt`}`;

export function differences(what: string, ours: ExpectedPicture, expected: ExpectedPicture): Row[] {
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

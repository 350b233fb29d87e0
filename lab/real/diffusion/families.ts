/** Every family with the published blocks and few channels: Lehr's pictures beside those of diffusers and Optimum's pipeline. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { casesOf, type DiffusersCase, relativeDistance } from '../../../test/support/diffusion-fixtures.ts';
import type { Bench, Comparison, Row } from '../section.ts';
import { aloneOf, drawWithLehr } from './draw-lehr.ts';
import { type DrawnOf, once, readDrawn } from './full-size.ts';

const SCRIPT = 'lab/real/diffusion/families.py';
const FAMILIES = {
  sd15: 'Stable Diffusion 1.5',
  sd21: 'Stable Diffusion 2.1, which predicts velocity',
  'sd-turbo': 'SD-Turbo',
  lcm: 'LCM',
  sdxl: 'SDXL',
  'sdxl-turbo': 'SDXL-Turbo',
  'sdxl-lcm': 'LCM of SDXL',
} as const;

export const families: readonly Comparison[] = Object.entries(FAMILIES).map(([name, title]) => ({
  name: `family-${name}`,
  title: `${title}, with few channels, in float32 and float16`,
  run: (bench) => family(bench, name),
}));

async function family(bench: Bench, name: string): Promise<Row[]> {
  const folder = join(bench.cache, 'families', name);
  const cases = casesOf(name);
  await mkdir(folder, { recursive: true });
  const ask = (part: string, request: object): Promise<void> =>
    once(join(folder, part), `${name}: ${part}`, { ...request, folder }, bench, SCRIPT);
  await ask('torch', { do: 'make', name });
  for (const dtype of ['fp32', 'fp16']) await ask(`onnx-${dtype}`, { do: 'export', dtype });
  const drawnBy = async (engine: string): Promise<DrawnOf> => {
    await mkdir(join(folder, 'drawn'), { recursive: true });
    await ask(`drawn/${engine}`, { do: 'draw', engine, cases });
    return readDrawn(join(folder, 'drawn', engine));
  };
  const torch = await drawnBy('torch-fp32');
  const lehr = await drawWithLehr(folder, cases, { graphs: 'onnx-fp32' });
  const what = `${cases.length} pictures in one batch`;
  const rows: Row[] = [];
  for (const [by, drawn] of [
    ['diffusers in torch', torch],
    ["Optimum's pipeline", await drawnBy('onnx-fp32')],
  ] as const) {
    const [latent, pixel] = await largestDifferences(cases, lehr, drawn);
    rows.push(
      atMost(`${what}, ${by}: relative distance of the final latents`, latent, 1e-3),
      atMost(`${what}, ${by}: largest difference of a pixel, of 255`, pixel, 2),
    );
  }
  const last = cases[cases.length - 1];
  const alone = relativeDistance((await lehr(last)).latent, (await lehr(aloneOf(last))).latent);
  rows.push(atMost(`${what}: final latent from the batch and alone`, alone, 1e-5));
  const [ours] = await largestDifferences(
    cases,
    await drawWithLehr(folder, cases, { graphs: 'onnx-fp16' }),
    torch,
  );
  const [theirs] = await largestDifferences(cases, await drawnBy('torch-fp16'), torch);
  rows.push({
    what: `${what}, float16 beside diffusers in float16: distance of the final latents from diffusers in float32`,
    lehr: ours.toExponential(1),
    other: theirs.toExponential(1),
    figure: ours / theirs,
    wanted: '<= 1',
    met: ours <= theirs,
  });
  return rows;
}

const atMost = (what: string, figure: number, limit: number): Row => ({
  what,
  figure: Number.isInteger(figure) ? figure : figure.toExponential(1),
  wanted: `<= ${limit}`,
  met: figure <= limit,
});

/** Over all cases: relative distance of the final latents, and the difference of a pixel. */
async function largestDifferences(
  cases: readonly DiffusersCase[],
  drawn: DrawnOf,
  wanted: DrawnOf,
): Promise<[latent: number, pixel: number]> {
  let [latent, pixel] = [0, 0];
  for (const each of cases) {
    const [ours, expected] = [await drawn(each), await wanted(each)];
    latent = Math.max(latent, relativeDistance(ours.latent, expected.latent));
    for (const [i, value] of expected.pixels.entries())
      pixel = Math.max(pixel, Math.abs(value - ours.pixels[i]));
  }
  return [latent, pixel];
}

/**
 * Pictures that begin at others, in masks, in two passes, in two models, from weighted and long prompts, with LoRAs and with a ControlNet, beside
 * diffusers in torch: cases of the fixtures of `npm test`, larger and with all blocks and layers of the published models.
 */
import { join } from 'node:path';
import { casesOf, type DiffusersCase, statesCases } from '../../../test/support/diffusion-fixtures.ts';
import type { Bench, Comparison, Row } from '../section.ts';
import { drawWithLehr } from './draw-lehr.ts';
import { drawWith, latentIn, withEncoder, withParts } from './full-size.ts';
import { aloneRow, differences } from './parity.ts';

const SIDE = 256;

interface Edits {
  readonly name: string;
  readonly title: string;
  readonly pipeline: string;
  readonly cases: readonly DiffusersCase[];
  /** Whether the cases use LoRAs and a ControlNet. */
  readonly hasParts?: boolean;
  /** The pipeline and the cases whose latents these begin at. */
  readonly before?: { readonly pipeline: string; readonly cases: readonly DiffusersCase[] };
}

const chosen = (fixture: string, names: readonly string[], side = SIDE): readonly DiffusersCase[] =>
  names.map((name) => {
    const found = casesOf(fixture).find((each) => each.name === name);
    if (!found) throw new Error(`The fixture ${fixture} has no case ${name}.`);
    return { ...found, width: side, height: side };
  });

/** Emphasis, chunks that a comma ends, three chunks, and an earlier layer. */
const PROMPTS = ['emphasis', 'comma', 'long', 'skip'];
const prompts: readonly DiffusersCase[] = statesCases()
  .filter(({ name }) => PROMPTS.includes(name))
  .map(({ name, prompt, clip_skip }, index) => ({
    name,
    prompt,
    ...(clip_skip !== null && { clipSkip: clip_skip }),
    promptSyntax: 'weighted',
    negative_prompt: 'blue, blurred',
    sampler: 'euler',
    steps: 3,
    guidance: 5,
    seed: index,
    width: SIDE,
    height: SIDE,
  }));

const WINDOWS = ['base', 'base-ancestral', 'base-karras'];
const windows = chosen('sdxl-window', WINDOWS);
const refined = chosen(
  'sdxl-refiner-window',
  WINDOWS.map((name) => name.replace('base', 'refined')),
).map((each) => ({ ...each, latent: each.latent?.replace('sdxl-window', 'sdxl') }));

const STYLE = { name: 'style', scale: 0.3 };
const LOOK = { name: 'look', scale: -0.2 };
const EDGES = { name: 'edges', image: 'edges.png' };
const parts: readonly DiffusersCase[] = [
  { name: 'lora', sampler: 'euler', steps: 4, guidance: 5, adapters: [STYLE] } as const,
  { name: 'two-loras', sampler: 'ddim', steps: 4, guidance: 1, adapters: [STYLE, LOOK] } as const,
  {
    name: 'control',
    sampler: 'euler_a',
    steps: 5,
    guidance: 5,
    control: [{ ...EDGES, scale: 0.8, start: 0.2, end: 0.7 }],
  } as const,
  { name: 'no-parts', sampler: 'euler', steps: 3, guidance: 1 } as const,
  {
    name: 'both',
    sampler: 'euler',
    steps: 4,
    guidance: 5,
    adapters: [LOOK],
    control: [{ ...EDGES, scale: 0.5 }],
  } as const,
].map((each, index) => ({
  ...each,
  prompt: 'a red circle',
  negative_prompt: 'blue, blurred',
  seed: index,
  width: SIDE,
  height: SIDE,
}));

const EDITS: readonly Edits[] = [
  {
    name: 'masks',
    title: 'Masks and what is around a picture: Stable Diffusion 1.5 at full width',
    pipeline: 'sd15',
    cases: chosen('sd15-inpaint', ['masked-euler', 'masked-unipc', 'outpainted', 'masked-unguided']),
  },
  {
    name: 'prompts',
    title: 'Weighted and long prompts: Stable Diffusion 1.5 at full width',
    pipeline: 'sd15',
    cases: prompts,
  },
  {
    name: 'hires',
    title: 'Second passes: Stable Diffusion 1.5 at full width',
    pipeline: 'sd15',
    cases: chosen('sd15-hires', ['latent', 'lanczos'], SIDE / 2),
  },
  {
    name: 'nine-channels',
    title: 'A UNet of 9 channels: Stable Diffusion 1.5 for inpainting at full width',
    pipeline: 'sd15-inpaint',
    cases: chosen('sd-inpaint', ['negative', 'ancestral', 'unguided']),
  },
  {
    name: 'xl-edits',
    title:
      'Masks, weighted and long prompts, second passes and early ends: SDXL at three tenths of its width',
    pipeline: 'sdxl',
    cases: [
      ...chosen('sdxl-inpaint', ['masked', 'masked-ancestral']),
      ...chosen('sd15-inpaint', ['outpainted']),
      ...prompts,
      ...windows,
      ...chosen('sdxl-hires', ['latent'], SIDE / 2),
    ],
  },
  {
    name: 'xl-refiner',
    title: "The refiner, which goes on with SDXL's latents: a third of its width",
    pipeline: 'sdxl-refiner',
    cases: refined,
    before: { pipeline: 'sdxl', cases: windows },
  },
  {
    name: 'adapters',
    title: 'LoRAs of rank 32 and a ControlNet, in shared runs: Stable Diffusion 1.5 at full width',
    pipeline: 'sd15',
    cases: parts,
    hasParts: true,
  },
  {
    name: 'xl-adapters',
    title: 'The same for SDXL at three tenths of its width',
    pipeline: 'sdxl',
    cases: parts,
    hasParts: true,
  },
];

export const edits: readonly Comparison[] = EDITS.map((each) => ({
  name: each.name,
  title: each.title,
  run: (bench) => compare(bench, each),
}));

async function compare(bench: Bench, { pipeline, cases, hasParts, before }: Edits): Promise<readonly Row[]> {
  const folder = await withEncoder(bench, pipeline);
  if (before) {
    const other = await withEncoder(bench, before.pipeline);
    await drawWith(bench, other, 'torch', before.cases);
  }
  const parts = hasParts ? await withParts(bench, folder) : {};
  const torch = await drawWith(bench, folder, 'torch', cases);
  bench.say('Lehr draws those of one size in a batch, and the last one alone');
  const latentOf = (name: string): Float32Array => latentIn(torchFolder(bench, name));
  const lehr = await drawWithLehr(folder, cases, { latentOf, ...parts });
  const rows: Row[] = [];
  for (const each of cases) rows.push(...differences(titleOf(each), await lehr(each), await torch(each)));
  const last = cases[cases.length - 1];
  return [...rows, await aloneRow(titleOf(last), last, lehr)];
}

/** `pipeline/case`, as diffusers drew it. */
function torchFolder({ cache }: Bench, name: string): string {
  const [pipeline, each] = name.split('/');
  return join(cache, 'full', pipeline, 'drawn/torch', each);
}

function titleOf({ name, sampler, steps, guidance, negative_prompt, ...each }: DiffusersCase): string {
  const { hires, mask, strength, clipSkip, adapters = [], control = [] } = each;
  const parts = [
    name,
    `${steps} steps of ${sampler}`,
    guidance === 1
      ? 'no guidance'
      : `guidance ${guidance}${negative_prompt ? ' with a negative prompt' : ''}`,
    strength !== undefined && `strength ${strength}`,
    mask !== undefined && `mask ${mask}`,
    clipSkip !== undefined && `clip_skip ${clipSkip}`,
    hires && `then ${hires.steps} steps of twice the size, by ${hires.upscaler}`,
    each.denoising_end !== undefined && `ends at ${each.denoising_end}`,
    each.denoising_start !== undefined && `begins at ${each.denoising_start}`,
    ...adapters.map((adapter) => `LoRA ${adapter.name} at ${adapter.scale}`),
    ...control.map(
      ({ scale = 1, start = 0, end = 1, ...net }) =>
        `ControlNet ${net.name} at ${scale} from ${start} to ${end}`,
    ),
  ];
  return `${each.width}x${each.height}, ${parts.filter(Boolean).join(', ')}`;
}

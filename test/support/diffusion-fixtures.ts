/**
 * The pipelines of lab/real/diffusion: real exports with few channels and random weights, and what diffusers draws with them
 * in torch. Their graphs are compressed, so a fixture is unpacked into a temporary folder first.
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { gunzipSync } from 'node:zlib';
import sharp from 'sharp';
import type { DiffusionModel } from '../../apps/worker/src/engine/diffusion/folder/diffusion-folder.ts';
import { encoderOf } from '../../apps/worker/src/engine/diffusion/folder/open-picture-input.ts';
import { LaneSample } from '../../apps/worker/src/engine/diffusion/lane/lane-sample.ts';
import { enlarged, secondRequest } from '../../apps/worker/src/engine/diffusion/lane/second-pass.ts';
import { encodeLatent, type NoisyLatent } from '../../apps/worker/src/engine/diffusion/latent-file.ts';
import type {
  DiffusionSample,
  SampleId,
  SecondPass,
} from '../../apps/worker/src/engine/protocol/messages.ts';
import type { SamplerName } from '../../packages/shared/src/index.ts';

const FIXTURES = new URL('../../lab/real/diffusion/fixtures/', import.meta.url).pathname;

/** Two numbers, height or top first, as in diffusers. */
type Pair = readonly [number, number];

export interface DiffusersCase {
  readonly name: string;
  readonly prompt: string;
  /** Null where diffusers was called without one. */
  readonly negative_prompt: string | null;
  readonly sampler: SamplerName;
  readonly steps: number;
  readonly guidance: number;
  readonly seed: number;
  readonly width: number;
  readonly height: number;
  readonly original_size?: Pair;
  readonly crops_coords_top_left?: Pair;
  readonly target_size?: Pair;
  /** The file of the fixture that it begins at, and the share of its steps that are made. */
  readonly image?: string;
  readonly strength?: number;
  /** The case of another fixture whose final latent it begins at: `fixture/case`. */
  readonly latent?: string;
  readonly denoising_start?: number;
  readonly denoising_end?: number;
  readonly hires?: Pick<SecondPass, 'steps' | 'strength' | 'upscaler'> & { readonly scale: number };
  /** The file of the fixture that says which part of the picture is drawn again. */
  readonly mask?: string;
  readonly promptSyntax?: DiffusionSample['promptSyntax'];
  readonly clipSkip?: number;
  /** Of the folder `adapters` of the fixture. */
  readonly adapters?: readonly { readonly name: string; readonly scale: number }[];
  /** Of the folder `controls` of the fixture; `image` is a file of it. */
  readonly control?: readonly {
    readonly name: string;
    readonly image: string;
    readonly scale?: number;
    readonly start?: number;
    readonly end?: number;
  }[];
}

/** The final latent of diffusers for `fixture/case`. */
export type LatentOf = (name: string) => Float32Array;

export interface ExpectedPicture {
  /** The final latent of diffusers, scaled as the UNet has it. */
  readonly latent: Float32Array;
  /** RGB, 8 bits. */
  readonly pixels: Uint8Array;
}

/** Unpacks a fixture into a folder, on top of the one that it is based on. */
export function unpackFixture(name: string, folder: string): void {
  const { base } = readCases(name);
  if (base) unpackFixture(base, folder);
  const source = join(FIXTURES, name);
  for (const file of readdirSync(source, { recursive: true, withFileTypes: true })) {
    if (!file.isFile()) continue;
    const path = join(file.parentPath, file.name);
    const target = join(folder, relative(source, path));
    mkdirSync(dirname(target), { recursive: true });
    const bytes = readFileSync(path);
    if (target.endsWith('.gz')) writeFileSync(target.slice(0, -'.gz'.length), gunzipSync(bytes));
    else writeFileSync(target, bytes);
  }
}

interface CasesFile {
  readonly base: string | null;
  readonly cases?: readonly DiffusersCase[];
  /** Names of cases of the base, whose pictures this fixture must draw too. */
  readonly same_as_base?: readonly string[];
}

function readCases(name: string): CasesFile {
  return JSON.parse(readFileSync(join(FIXTURES, name, 'cases.json'), 'utf8'));
}

export function casesOf(name: string): readonly DiffusersCase[] {
  const { base, cases = [], same_as_base: shared = [] } = readCases(name);
  return base === null || shared.length === 0
    ? cases
    : casesOf(base).filter((each) => shared.includes(each.name));
}

/** A case of the fixture `prompts`, whose states are those of torch. */
export interface StatesCase {
  readonly name: string;
  readonly prompt: string;
  readonly clip_skip: number | null;
  readonly chunks: number;
}

export const statesCases = (): readonly StatesCase[] =>
  JSON.parse(readFileSync(join(FIXTURES, 'prompts/cases.json'), 'utf8'));

export async function expectedPicture(name: string, each: DiffusersCase): Promise<ExpectedPicture> {
  return { latent: expectedLatent(name, each), pixels: await pixelsOf(`${expectedPath(name, each)}.png`) };
}

/** The final latent of diffusers. */
export function expectedLatent(name: string, each: DiffusersCase): Float32Array {
  return new Float32Array(new Uint8Array(readFileSync(`${expectedPath(name, each)}.latent.f32`)).buffer);
}

function expectedPath(name: string, { name: each }: DiffusersCase): string {
  const { base, same_as_base: shared = [] } = readCases(name);
  const owner = base !== null && shared.length > 0 ? base : name;
  return join(FIXTURES, owner, 'expected', each);
}

const pixelsOf = async (path: string, channels: 1 | 3 = 3): Promise<Uint8Array> =>
  new Uint8Array(
    await sharp(path)
      .removeAlpha()
      .toColourspace(channels === 1 ? 'b-w' : 'srgb')
      .raw()
      .toBuffer(),
  );

/**
 * A sample of a case, ready for its first step. `folder` is needed for cases that begin at a picture, and `latentOf` for those that begin at a
 * latent of no fixture.
 */
export async function sampleOf(
  model: DiffusionModel,
  { image: file, latent: from, mask: maskFile, hires, control, ...each }: DiffusersCase,
  folder = '',
  latentOf: LatentOf = latentOfFixture,
): Promise<LaneSample> {
  const image = file === undefined ? undefined : await pixelsOf(join(folder, file));
  const mask = maskFile === undefined ? undefined : await pixelsOf(join(folder, maskFile), 1);
  const { height, width } = latentSize(model, each);
  const shape = [model.unet.latentChannels, height, width] as const;
  const request: DiffusionSample = {
    ...each,
    id: each.name as SampleId,
    task: 'diffusion',
    model: 'fixture@1',
    lane: 'fixture',
    negativePrompt: each.negative_prompt ?? '',
    originalSize: each.original_size,
    cropsTopLeft: each.crops_coords_top_left,
    targetSize: each.target_size,
    maxBatchMates: Number.MAX_SAFE_INTEGER,
    ...(image && { image }),
    ...(hires && { hires: await secondOf(each, hires, { image: file, mask: maskFile }, folder) }),
    ...(from && { latent: fileOf(latentOf(from), each.sampler, shape) }),
    ...(each.denoising_start && { denoisingStart: each.denoising_start }),
    ...(each.denoising_end && { denoisingEnd: each.denoising_end }),
    ...(mask && { mask }),
    ...(control && { controls: await Promise.all(control.map((use) => controlOf(use, folder))) }),
  };
  const sample = new LaneSample(request, model.schedulerConfig, shape, 0, model.conditioning);
  if (image) {
    const encoder = encoderOf(request.model, model.pictureInput, each);
    sample.denoising.beginAt(await sample.denoising.encodeStart(encoder));
  }
  sample.prompt.setEmbeddings(await model.textEncoder.encode(sample.prompt.texts));
  return sample;
}

async function controlOf(
  { name, image, scale = 1, start = 0, end = 1 }: NonNullable<DiffusersCase['control']>[number],
  folder: string,
): Promise<NonNullable<DiffusionSample['controls']>[number]> {
  return { name, scale, start, end, pixels: await pixelsOf(join(folder, image)) };
}

/** The second pass of a case, with its picture and mask at that size where it has one. */
async function secondOf(
  { width, height }: { readonly width: number; readonly height: number },
  { scale, ...hires }: NonNullable<DiffusersCase['hires']>,
  files: { readonly image: string | undefined; readonly mask: string | undefined },
  folder: string,
): Promise<SecondPass> {
  const second = { ...hires, lane: 'large', width: width * scale, height: height * scale };
  if (!files.image || !files.mask) return second;
  const [image, mask] = [join(folder, `large-${files.image}`), join(folder, `large-${files.mask}`)];
  return { ...second, kept: { image: await pixelsOf(image), mask: await pixelsOf(mask, 1) } };
}

function latentOfFixture(from: string): Float32Array {
  const [fixture, name] = from.split('/');
  return expectedLatent(fixture, { name } as DiffusersCase);
}

/** A latent that was drawn with the same sampler, as Lehr hands it over. */
const fileOf = (values: Float32Array, sampler: SamplerName, shape: NoisyLatent['shape']): Uint8Array =>
  encodeLatent({ values, shape, hasSigmaUnits: sampler.startsWith('euler') });

/** The second passes of samples that have made their first one, and the others as they are. */
export const secondPasses = (
  model: DiffusionModel,
  samples: readonly LaneSample[],
): Promise<readonly LaneSample[]> =>
  Promise.all(
    samples.map(async (first) => {
      const { hires } = first.request;
      if (!hires) return first;
      const { width, height } = first.request;
      const isDecoded = hires.upscaler === 'lanczos';
      const pixels = isDecoded && (await model.vae.decode(first.denoising.latent, first.request));
      const picture = pixels ? { pixels, width, height } : undefined;
      const request = secondRequest(first.request, enlarged(first, picture));
      const size = latentSize(model, request);
      const shape = [model.unet.latentChannels, size.height, size.width] as const;
      const second = new LaneSample(request, model.schedulerConfig, shape, 0, model.conditioning, first);
      second.prompt.takeFrom(first.prompt);
      if (request.image) {
        const encoder = encoderOf(request.model, model.pictureInput, request);
        second.denoising.beginAt(await second.denoising.encodeStart(encoder));
      }
      return second;
    }),
  );

/** Makes all steps of samples of one size, in shared runs of the UNet. */
export async function denoise(model: DiffusionModel, samples: readonly LaneSample[]): Promise<void> {
  const unfinished = ({ denoising }: LaneSample): boolean => denoising.callsLeft > 0;
  for (let left = samples.filter(unfinished); left.length > 0; left = left.filter(unfinished)) {
    const rows = left.map((sample) => sample.nextRows());
    const predictions = await model.unet.predict(rows.flat(), latentSize(model, left[0].request));
    let at = 0;
    for (const [i, sample] of left.entries()) {
      sample.advance(predictions, at, left.length);
      at += rows[i].length;
    }
  }
}

const latentSize = ({ vae }: DiffusionModel, { width, height }: { width: number; height: number }) => ({
  width: width / vae.scaleFactor,
  height: height / vae.scaleFactor,
});

/** The length of the difference of two vectors, relative to the length of the second. */
export function relativeDistance(values: Float32Array, expected: Float32Array): number {
  if (values.length !== expected.length)
    throw new Error(`${values.length} values, wanted ${expected.length}`);
  let difference = 0;
  let length = 0;
  for (const [i, value] of expected.entries()) {
    difference += (values[i] - value) ** 2;
    length += value ** 2;
  }
  return Math.sqrt(difference / length);
}

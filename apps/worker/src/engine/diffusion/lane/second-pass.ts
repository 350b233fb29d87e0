/** The second pass of a sample with `hires`: a sample of its own that begins at the first one's result and goes on in the lane of its size. */
import { isPlainUpscaler, LehrError } from '@lehr/shared';
import type { DiffusionSample, SecondPass } from '../../protocol/messages.ts';
import { resizePixels, resizeValues } from '../../values/resize.ts';
import type { DiffusionModel } from '../folder/diffusion-folder.ts';
import { encoderOf } from '../folder/open-picture-input.ts';
import { refuseOtherSize } from '../folder/picture-sizes.ts';
import { encodeLatent } from '../latent-file.ts';
import { checkRun } from '../samplers/index.ts';
import type { LaneSample } from './lane-sample.ts';
import type { Pixels, Upscales } from './upscales.ts';

type Beginning = Pick<DiffusionSample, 'image' | 'latent'>;

/**
 * As A1111 does, it has the seed of the first pass, whose noise is drawn anew at the larger size. What a mask keeps is the picture itself at that
 * size, and nothing of the first pass: so a second pass that continues from a checkpoint needs only the job.
 */
export function secondRequest({ hires, ...request }: DiffusionSample, beginning: Beginning): DiffusionSample {
  const { image: _, latent: __, mask: ___, noiseUnderMask: ____, denoisingStart: _____, ...same } = request;
  const { lane, width, height, steps, strength, kept } = wanted(hires);
  const { image: begun } = beginning;
  const start = kept ? { ...kept, ...(begun ? { begun } : beginning) } : beginning;
  return { ...same, lane, width, height, steps, strength, ...start };
}

/** What the second pass begins at, made of the first one's pixels, else of its latent. */
export function enlarged({ request, denoising }: LaneSample, picture?: Pixels): Beginning {
  const to = wanted(request.hires);
  if (picture) return { image: resizePixels(picture.pixels, picture, to, 'lanczos') };
  const [channels, height, width] = denoising.shape;
  const size = { height: (to.height * height) / request.height, width: (to.width * width) / request.width };
  const values = resizeValues(denoising.latent, denoising.shape, size);
  const shape = [channels, size.height, size.width] as const;
  return { latent: encodeLatent({ values, shape, hasSigmaUnits: false }) };
}

/** Throws LehrError naming /input/hires, before the first pass is made, when the model cannot make the second one. */
export function refuseSecondPass(
  model: DiffusionModel,
  request: DiffusionSample,
  upscales: Pick<Upscales, 'check'>,
): void {
  const { hires, sampler: name } = request;
  if (!hires) return;
  const { steps, strength, upscaler } = hires;
  try {
    refuseOtherSize(model.onlySize, hires);
    if (upscaler !== 'latent' || request.mask) encoderOf(request.model, model.pictureInput, hires);
    if (!isPlainUpscaler(upscaler)) upscales.check(upscaler);
    checkRun({ name, config: model.schedulerConfig, steps, strength });
  } catch (error) {
    if (!(error instanceof LehrError)) throw error;
    const detail = `cannot be made: ${error.message}`;
    const problems = [{ pointer: '/input/hires', detail }];
    throw new LehrError(error.code, `/input/hires ${detail}`, { problems, cause: error });
  }
}

function wanted(hires: SecondPass | undefined): SecondPass {
  if (!hires) throw new Error('A sample without a second pass began one. This is a bug in Lehr.');
  return hires;
}

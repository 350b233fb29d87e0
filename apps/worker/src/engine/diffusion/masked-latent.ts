/**
 * Inpainting with a UNet for text to image, as in diffusers' StableDiffusionInpaintPipeline: the part of the latent outside of the mask
 * is put back after each step, as the picture has it at the level of noise that the next call reads.
 */
import type { LatentLevel } from './samplers/sampler.ts';
import type { LatentSize } from './unet.ts';

const WHITE = 255;

/** An inpainting model was trained with masks that have no greys; as diffusers rounds. */
export const isMasked = (weight: number): boolean => weight / WHITE >= 0.5;

/** One value for each pixel of the latent, 1 where it is drawn: the mask's pixel at the same place, without a mean, as in diffusers. */
export function latentMask(
  mask: Uint8Array,
  picture: LatentSize,
  { height, width }: LatentSize,
): Float32Array {
  const values = new Float32Array(height * width);
  for (let y = 0; y < height; y++) {
    const line = Math.floor((y * picture.height) / height) * picture.width;
    for (let x = 0; x < width; x++) {
      values[y * width + x] = mask[line + Math.floor((x * picture.width) / width)] / WHITE;
    }
  }
  return values;
}

export class MaskedLatent {
  /** `[height, width]` of the latent; a value between 0 and 1 is a weight. */
  readonly #mask: Float32Array;
  /** Clean, and the noise of the first call; `[channels, height, width]`. */
  readonly #original: Float32Array;
  readonly #noise: Float32Array;

  constructor(mask: Float32Array, original: Float32Array, noise: Float32Array) {
    this.#mask = mask;
    this.#original = original;
    this.#noise = noise;
  }

  /** `latent = mask * latent + (1 - mask) * the picture at this level`, in place. */
  keepOriginal(latent: Float32Array, { picture, noise }: LatentLevel): void {
    for (let at = 0; at < latent.length; at += this.#mask.length)
      this.#keepChannel(latent, at, picture, noise);
  }

  /** A function of its own, so that V8 compiles it after some channels and not in the middle of a long loop. */
  #keepChannel(latent: Float32Array, at: number, ofPicture: number, ofNoise: number): void {
    const [mask, original, noise] = [this.#mask, this.#original, this.#noise];
    for (let i = 0; i < mask.length; i++) {
      const weight = mask[i];
      if (weight === 1) continue;
      const kept = ofPicture * original[at + i] + ofNoise * noise[at + i];
      latent[at + i] = weight * latent[at + i] + (1 - weight) * kept;
    }
  }
}

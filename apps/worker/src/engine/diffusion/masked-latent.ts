/**
 * Inpainting with a UNet for text to image, as in diffusers' StableDiffusionInpaintPipeline: the part of the latent outside of the mask
 * is put back after each step, as the picture has it at the level of noise that the next call reads.
 */

import type { LatentSize } from './row-feeds.ts';
import type { LatentLevel } from './samplers/sampler.ts';

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

/** Values of one channel next to one another that are alike in what is done with them. */
interface Span {
  readonly from: number;
  readonly to: number;
}

export class MaskedLatent {
  /** `[height, width]` of the latent; a value between 0 and 1 is a weight. */
  readonly #mask: Float32Array;
  /** Clean, and the noise of the first call; `[channels, height, width]`. */
  readonly #original: Float32Array;
  readonly #noise: Float32Array;
  /** Where the mask is 0, and where it is a weight: what is drawn costs nothing, and what is kept is not read. */
  readonly #kept: readonly Span[];
  readonly #mixed: readonly Span[];

  constructor(mask: Float32Array, original: Float32Array, noise: Float32Array) {
    this.#mask = mask;
    this.#original = original;
    this.#noise = noise;
    this.#kept = spansOf(mask, (weight) => weight === 0);
    this.#mixed = spansOf(mask, (weight) => weight > 0 && weight < 1);
  }

  /** `latent = mask * latent + (1 - mask) * the picture at this level`, in place. */
  keepOriginal(latent: Float32Array, level: LatentLevel): void {
    for (let at = 0; at < latent.length; at += this.#mask.length) {
      for (const span of this.#kept) this.#keep(latent, at, span, level);
      for (const span of this.#mixed) this.#mix(latent, at, span, level);
    }
  }

  /** Functions of their own, so that V8 compiles them after some spans and not in the middle of a long loop. */
  #keep(
    latent: Float32Array,
    at: number,
    { from, to }: Span,
    { picture, noise: ofNoise }: LatentLevel,
  ): void {
    const [original, noise] = [this.#original, this.#noise];
    for (let i = at + from; i < at + to; i++) latent[i] = picture * original[i] + ofNoise * noise[i];
  }

  #mix(latent: Float32Array, at: number, { from, to }: Span, { picture, noise: ofNoise }: LatentLevel): void {
    const [mask, original, noise] = [this.#mask, this.#original, this.#noise];
    for (let i = from; i < to; i++) {
      const weight = mask[i];
      const kept = picture * original[at + i] + ofNoise * noise[at + i];
      latent[at + i] = weight * latent[at + i] + (1 - weight) * kept;
    }
  }
}

function spansOf(mask: Float32Array, isIn: (weight: number) => boolean): readonly Span[] {
  const spans: Span[] = [];
  for (let from = 0; from < mask.length; from++) {
    if (!isIn(mask[from])) continue;
    let to = from + 1;
    while (to < mask.length && isIn(mask[to])) to++;
    spans.push({ from, to });
    from = to;
  }
  return spans;
}

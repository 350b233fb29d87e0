/**
 * Previews of latents: a linear map from latent channels to colour, fitted by least squares to the model's own VAE. keturn
 * showed that a linear map is close enough on Stable Diffusion 1.4 ("Decoding latents to RGB without upscaling",
 * discuss.huggingface.co/t/23204). Because it is fitted per model, it needs no table of factors and works for any model.
 */
import type { Clock } from '@lehr/shared';
import type { PictureSize } from '../values/resize.ts';
import { SeededNoise } from './noise.ts';
import type { LatentSize } from './row-feeds.ts';
import type { Vae } from './vae.ts';

interface Thumbnail {
  /** RGB, 8 bits, row-major: height x width x 3. */
  readonly pixels: Uint8Array;
  readonly width: number;
  readonly height: number;
}

/** The part of a VAE that a fit needs. */
export type LatentDecoder = Pick<Vae, 'latentChannels' | 'scaleFactor' | 'decode'>;

/** Longest side of a thumbnail in pixels. A larger latent is averaged down; a smaller one gives a smaller thumbnail. */
const LONGEST_SIDE = 64;
const COLOURS = 3;
/** Latent positions to fit to: 200 equations for each weight of a map of four channels. */
const ENOUGH_POSITIONS = 1024;
/** No further decode starts after this time. The first one always runs: it is the VAE's warm-up. */
const BUDGET_MS = 500;

export class LatentRgb {
  readonly #channels: number;
  /** `[colours, channels + 1]`: for each colour (0 to 255) a weight per channel, then the bias. */
  readonly #weights: readonly Float64Array[];

  constructor(channels: number, weights: readonly Float64Array[]) {
    this.#channels = channels;
    this.#weights = weights;
  }

  /** `latent` is `[channels, height, width]`, scaled as for the UNet. */
  thumbnail(latent: Float32Array, size: LatentSize): Thumbnail {
    const block = Math.ceil(Math.max(size.width, size.height) / LONGEST_SIDE);
    const planes = planesOf(latent, this.#channels).map((plane) => shrink(plane, size, block));
    const small = shrunk(size, block);
    const length = small.width * small.height;
    const pixels = new Uint8ClampedArray(length * COLOURS);
    for (const [colour, weights] of this.#weights.entries()) {
      const sums = new Float32Array(length).fill(weights[this.#channels]);
      for (const [channel, plane] of planes.entries()) {
        const weight = weights[channel];
        for (let i = 0; i < length; i += 1) sums[i] += weight * plane[i];
      }
      for (let i = 0; i < length; i += 1) pixels[i * COLOURS + colour] = sums[i];
    }
    return { pixels: new Uint8Array(pixels.buffer), ...small };
  }
}

/**
 * Decodes synthetic latents for pictures of this size until there are enough positions or the time budget is used up.
 * Rejects with what `decode` rejects with.
 */
export async function fitLatentRgb(
  vae: LatentDecoder,
  picture: PictureSize,
  clock: Clock,
): Promise<LatentRgb> {
  const { latentChannels, scaleFactor } = vae;
  const size = shrunk(picture, scaleFactor);
  const noise = new SeededNoise(0);
  const fit = new LeastSquares(latentChannels + 1, COLOURS);
  const startedAt = clock.monotonic();
  do {
    const latent = pictureLike(latentChannels, size, noise);
    const pixels = await vae.decode(latent, picture);
    const colours = colourPlanes(pixels).map((plane) => shrink(plane, picture, scaleFactor));
    const known = [...planesOf(latent, latentChannels), new Float32Array(size.width * size.height).fill(1)];
    fit.add(known, colours);
  } while (fit.count < ENOUGH_POSITIONS && clock.monotonic() - startedAt < BUDGET_MS);
  return new LatentRgb(latentChannels, fit.solve());
}

/**
 * Noise of unit variance with correlated neighbours, as in the latents of pictures: octaves of equal weight. With white
 * noise, which no picture gives, the VAE draws textures and the fitted colours come out pale.
 */
export function pictureLike(
  channels: number,
  { width, height }: LatentSize,
  noise = new SeededNoise(0),
): Float32Array {
  const latent = new Float32Array(channels * height * width);
  const octaves = Math.ceil(Math.log2(Math.max(width, height))) + 1;
  for (let octave = 0; octave < octaves; octave += 1) {
    const block = 2 ** octave;
    const coarse = shrunk({ width, height }, block);
    const values = noise.draw(channels * coarse.height * coarse.width);
    for (let i = 0; i < latent.length; i += 1) {
      const [channel, y, x] = [Math.floor(i / (width * height)), Math.floor(i / width) % height, i % width];
      const line = channel * coarse.height + Math.floor(y / block);
      latent[i] += values[line * coarse.width + Math.floor(x / block)] / Math.sqrt(octaves);
    }
  }
  return latent;
}

const planesOf = (latent: Float32Array, channels: number): Float32Array[] => {
  const length = latent.length / channels;
  return Array.from({ length: channels }, (_, channel) =>
    latent.subarray(channel * length, (channel + 1) * length),
  );
};

const colourPlanes = (pixels: Uint8Array): Float32Array[] =>
  Array.from({ length: COLOURS }, (_, colour) =>
    Float32Array.from({ length: pixels.length / COLOURS }, (_, i) => pixels[i * COLOURS + colour]),
  );

const shrunk = ({ width, height }: PictureSize, block: number): PictureSize => ({
  width: Math.ceil(width / block),
  height: Math.ceil(height / block),
});

/** Means over squares of `block` by `block` values; squares at the right and lower edge may be smaller. */
function shrink(plane: Float32Array, { width, height }: PictureSize, block: number): Float32Array {
  if (block === 1) return plane;
  const small = shrunk({ width, height }, block);
  const sums = new Float32Array(small.width * small.height);
  const counts = new Float32Array(sums.length);
  for (let y = 0; y < height; y += 1) {
    const line = Math.floor(y / block) * small.width;
    for (let x = 0; x < width; x += 1) {
      const at = line + Math.floor(x / block);
      sums[at] += plane[y * width + x];
      counts[at] += 1;
    }
  }
  return sums.map((sum, i) => sum / counts[i]);
}

/** Keeps the equations solvable when an unknown is always 0 in the data: its result is 0. Relative to the number of lines. */
const RIDGE = 1e-9;

/** Least squares by the normal equations, `A^T A x = A^T b`, for a few unknowns and any number of lines. */
export class LeastSquares {
  readonly #unknowns: number;
  readonly #wanted: number;
  /** `[A^T A | A^T b]`, `[unknowns, unknowns + wanted]`. */
  readonly #sums: readonly Float64Array[];
  #count = 0;

  /** `wanted` right-hand sides are fitted at once. */
  constructor(unknowns: number, wanted: number) {
    this.#unknowns = unknowns;
    this.#wanted = wanted;
    this.#sums = Array.from({ length: unknowns }, () => new Float64Array(unknowns + wanted));
  }

  /** Lines added so far. */
  get count(): number {
    return this.#count;
  }

  /** Adds lines: `known` has one array per unknown, `wanted` one per right-hand side, each with one value per line. */
  add(known: readonly Float32Array[], wanted: readonly Float32Array[]): void {
    this.#count += known[0].length;
    for (const [i, sums] of this.#sums.entries()) {
      for (const [j, column] of [...known, ...wanted].entries()) sums[j] += dot(known[i], column);
    }
  }

  /** `[wanted, unknowns]`. Gauss-Jordan elimination; the matrix is positive definite, so it needs no pivoting. */
  solve(): Float64Array[] {
    const lines = this.#sums.map((sums) => sums.slice());
    for (const [i, line] of lines.entries()) line[i] += RIDGE * this.#count;
    for (const [pivot, line] of lines.entries()) {
      const scale = 1 / line[pivot];
      for (let j = 0; j < line.length; j += 1) line[j] *= scale;
      for (const [i, other] of lines.entries()) {
        if (i === pivot) continue;
        const factor = other[pivot];
        for (let j = 0; j < line.length; j += 1) other[j] -= factor * line[j];
      }
    }
    return Array.from({ length: this.#wanted }, (_, side) =>
      Float64Array.from(lines, (line) => line[this.#unknowns + side]),
    );
  }
}

function dot(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i += 1) sum += a[i] * b[i];
  return sum;
}

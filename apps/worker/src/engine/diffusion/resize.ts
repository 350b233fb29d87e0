/**
 * Makes the first pass of a picture larger: its latent by bilinear interpolation, as torch does, or its pixels by Lanczos, as Pillow does with
 * 8 bits a value. Both are one filter along the rows and then along the columns, whose weights have the sum 1 also at the edges.
 */
import type { PictureSize } from './vae.ts';

interface Kernel {
  /** Where its weights end, in values of the smaller side. */
  readonly support: number;
  readonly weight: (distance: number) => number;
}

const BILINEAR: Kernel = { support: 1, weight: (x) => Math.max(0, 1 - Math.abs(x)) };

const sinc = (x: number): number => (x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x));
const LANCZOS: Kernel = { support: 3, weight: (x) => (Math.abs(x) < 3 ? sinc(x) * sinc(x / 3) : 0) };

const CHANNELS = 3;

/** `[channels, height, width]`. */
export function enlargeLatent(
  latent: Float32Array,
  [channels, height, width]: readonly [number, number, number],
  to: PictureSize,
): Float32Array {
  const rows = new Float32Array(channels * height * to.width);
  resample(latent, [channels * height, width, 1], rows, to.width, BILINEAR);
  const whole = new Float32Array(channels * to.height * to.width);
  resample(rows, [channels, height, to.width], whole, to.height, BILINEAR);
  return whole;
}

/** RGB, 8 bits, `[height, width, 3]`. */
export function enlargePixels(pixels: Uint8Array, from: PictureSize, to: PictureSize): Uint8Array {
  const rows = new Uint8ClampedArray(from.height * to.width * CHANNELS);
  resample(pixels, [from.height, from.width, CHANNELS], rows, to.width, LANCZOS);
  const whole = new Uint8ClampedArray(to.height * to.width * CHANNELS);
  resample(rows, [1, from.height, to.width * CHANNELS], whole, to.height, LANCZOS);
  return new Uint8Array(whole.buffer);
}

type Values = Float32Array | Uint8Array | Uint8ClampedArray;

/** Along the second of three axes, from its length to `length`. */
function resample(
  from: Values,
  [outer, count, inner]: readonly [number, number, number],
  to: Values,
  length: number,
  kernel: Kernel,
): void {
  const taps = Array.from({ length }, (_, at) => tapsOf(at, count / length, count, kernel));
  for (let o = 0; o < outer; o += 1) {
    for (let at = 0; at < length; at += 1) {
      const { first, weights } = taps[at];
      const source = (o * count + first) * inner;
      const target = (o * length + at) * inner;
      for (let i = 0; i < inner; i += 1) {
        let sum = 0;
        for (let tap = 0; tap < weights.length; tap += 1)
          sum += weights[tap] * from[source + tap * inner + i];
        to[target + i] = sum;
      }
    }
  }
}

/** The values that the value at `at` is made of. `scale`: values of the source for each of the result. */
function tapsOf(at: number, scale: number, count: number, { support, weight }: Kernel) {
  const stretch = Math.max(scale, 1);
  const centre = (at + 0.5) * scale;
  const first = Math.max(0, Math.trunc(centre - support * stretch + 0.5));
  const end = Math.min(count, Math.trunc(centre + support * stretch + 0.5));
  const raw = Array.from({ length: end - first }, (_, i) => weight((first + i + 0.5 - centre) / stretch));
  const sum = raw.reduce((total, each) => total + each, 0);
  return { first, weights: Float64Array.from(raw, (each) => each / sum) };
}

/**
 * Resizes pictures as Pillow does with 8 bits a value, and latents and masks by bilinear interpolation, as torch does. Both are one filter along
 * the rows and then along the columns, whose weights have the sum 1 also at the edges.
 */

export interface PictureSize {
  readonly height: number;
  readonly width: number;
}

interface Kernel {
  /** Where its weights end, in values of the smaller side. */
  readonly support: number;
  readonly weight: (distance: number) => number;
}

const sinc = (x: number): number => (x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x));

function cubic(x: number): number {
  const at = Math.abs(x);
  if (at < 1) return (1.5 * at - 2.5) * at * at + 1;
  return at < 2 ? ((-0.5 * at + 2.5) * at - 4) * at + 2 : 0;
}

const KERNELS = {
  bilinear: { support: 1, weight: (x) => Math.max(0, 1 - Math.abs(x)) },
  bicubic: { support: 2, weight: cubic },
  lanczos: { support: 3, weight: (x) => (Math.abs(x) < 3 ? sinc(x) * sinc(x / 3) : 0) },
  box: { support: 0.5, weight: (x) => (x > -0.5 && x <= 0.5 ? 1 : 0) },
  hamming: {
    support: 1,
    weight: (x) => (Math.abs(x) < 1 ? sinc(x) * (0.54 + 0.46 * Math.cos(Math.PI * x)) : 0),
  },
} as const satisfies Record<string, Kernel>;

export type Filter = keyof typeof KERNELS | 'nearest';

const CHANNELS = 3;

/** `[channels, height, width]`. */
export function resizeValues(
  values: Float32Array,
  [channels, height, width]: readonly [number, number, number],
  to: PictureSize,
): Float32Array {
  const rows = new Float32Array(channels * height * to.width);
  resample(values, [channels * height, width, 1], rows, to.width, 'bilinear');
  const whole = new Float32Array(channels * to.height * to.width);
  resample(rows, [channels, height, to.width], whole, to.height, 'bilinear');
  return whole;
}

/** RGB, 8 bits, `[height, width, 3]`; the same array when nothing is to be done. */
export function resizePixels(
  pixels: Uint8Array,
  from: PictureSize,
  to: PictureSize,
  filter: Filter,
): Uint8Array {
  if (from.width === to.width && from.height === to.height) return pixels;
  const rows = new Uint8ClampedArray(from.height * to.width * CHANNELS);
  resample(pixels, [from.height, from.width, CHANNELS], rows, to.width, filter);
  const whole = new Uint8ClampedArray(to.height * to.width * CHANNELS);
  resample(rows, [1, from.height, to.width * CHANNELS], whole, to.height, filter);
  return new Uint8Array(whole.buffer);
}

type Values = Float32Array | Uint8Array | Uint8ClampedArray;

/** Pillow's weights for 8 bits are whole numbers of these, and its sums are rounded half up. */
const STEPS = 2 ** 22;
const inSteps = (weight: number): number => Math.sign(weight) * Math.floor(Math.abs(weight) * STEPS + 0.5);

/** Along the second of three axes, from its length to `length`. */
function resample(
  from: Values,
  [outer, count, inner]: readonly [number, number, number],
  to: Values,
  length: number,
  filter: Filter,
): void {
  const scale = count / length;
  const is8Bits = to instanceof Uint8ClampedArray;
  let centre = -scale / 2;
  const taps = Array.from({ length }, (_, at) => {
    // As Pillow finds the nearest value: of two that are equally near, the sum of the steps decides.
    centre += scale;
    const nearest = { first: Math.min(count - 1, Math.floor(centre)), weights: Float64Array.of(1) };
    const own = filter === 'nearest' ? nearest : tapsOf(at, scale, count, KERNELS[filter]);
    return is8Bits ? { ...own, weights: own.weights.map(inSteps) } : own;
  });
  for (let o = 0; o < outer; o += 1) {
    for (let at = 0; at < length; at += 1) {
      const { first, weights } = taps[at];
      const source = (o * count + first) * inner;
      const target = (o * length + at) * inner;
      for (let i = 0; i < inner; i += 1) {
        let sum = 0;
        for (let tap = 0; tap < weights.length; tap += 1)
          sum += weights[tap] * from[source + tap * inner + i];
        to[target + i] = is8Bits ? Math.floor(sum / STEPS + 0.5) : sum;
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

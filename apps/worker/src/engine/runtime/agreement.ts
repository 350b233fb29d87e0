/** Whether two forms of a graph compute the same: their outputs for the same inputs, compared. */
import { DATA_TYPE, type StoredModel } from '@lehr/onnx-model';
import type { Provider } from './runtime.ts';
import { floatValues, largestDifference, type Tensor } from './tensor.ts';

type Outputs = Readonly<Record<string, Tensor>>;

/**
 * How far outputs may be from each other, as a share of the largest value, when a worker opens a graph and when `lehr models prepare` keeps one.
 * Fused nodes add in another order, which changes float32 on a CPU by less; half precision rounds a thousand times as much.
 */
export const TOLERANCE = { float32: 1e-5, float16: 2e-2 } as const;

/** Of a graph in float32 whose inside is in half precision too. Cards multiply float32 with fewer bits as well. */
export const toleranceOf = (provider: Provider, { initializers }: StoredModel): number => {
  const isHalf = initializers.some(({ tensor }) => tensor.dataType === DATA_TYPE.float16);
  return isHalf || provider !== 'cpu' ? TOLERANCE.float16 : TOLERANCE.float32;
};

/** Undefined when the outputs agree. */
export const disagreement = (share: number, allowed: number): string | undefined =>
  share <= allowed ? undefined : `it differs by ${share} of its largest value, at most ${allowed} allowed`;

export const largestShare = (wanted: Outputs, found: Outputs): number =>
  Math.max(...Object.keys(wanted).map((name) => shareOfDifference(wanted[name], found[name])));

/**
 * The largest difference of two outputs as a share of the largest value of the first. Infinite when they differ in type or size, when
 * a value is not finite, and when whole numbers are not equal.
 */
export function shareOfDifference(wanted: Tensor, found: Tensor): number {
  if (wanted.type !== found.type || wanted.dims.join() !== found.dims.join()) return Number.POSITIVE_INFINITY;
  if (wanted.type !== 'float32' && wanted.type !== 'float16') {
    const isSame = wanted.data.every((value, i) => value === found.data[i]);
    return isSame ? 0 : Number.POSITIVE_INFINITY;
  }
  const [a, b] = [floatValues(wanted), floatValues(found)];
  const difference = largestDifference(a, b);
  const largest = a.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  return difference === 0 ? 0 : difference / largest;
}

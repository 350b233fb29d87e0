import { largestDifference } from '../../runtime/largest-difference.ts';
import { floatValues, type Tensor } from '../../runtime/tensor.ts';

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

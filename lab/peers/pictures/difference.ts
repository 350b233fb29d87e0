/** Whether two servers drew the same pictures. */
import { pixelsOf } from '../../bench/demo-lehr.ts';

/** The largest difference of a color value (0 to 255) between the pictures of both lists, pair by pair. Throws for different sizes. */
export async function largestDifference(
  ours: readonly Uint8Array[],
  theirs: readonly Uint8Array[],
): Promise<number> {
  let largest = 0;
  for (const [i, file] of ours.entries()) {
    const [one, other] = [await pixelsOf(file), await pixelsOf(theirs[i])];
    if (one.width !== other.width || one.height !== other.height)
      throw new Error(
        `Picture ${i} has ${one.width}x${one.height} and ${other.width}x${other.height} pixels.`,
      );
    for (const [at, value] of one.data.entries()) {
      largest = Math.max(largest, Math.abs(value - other.data[at]));
    }
  }
  return largest;
}

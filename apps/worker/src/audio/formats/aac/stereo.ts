/** What the two channels of a pair have in common: ISO/IEC 14496-3, 4.6.8. */
import { type ChannelStream, INTENSITY_BOOKS, NOISE_BOOK } from './channel-stream.ts';

/**
 * Restores left and right in place. `isMiddleSide` goes by band as the books do; where the right channel is intensity-coded it
 * means opposite phase instead.
 */
export function joinStereo(left: ChannelStream, right: ChannelStream, isMiddleSide: Uint8Array): void {
  const { groups, bandCount, offsets } = right.layout;
  const windowLines = offsets[offsets.length - 1];
  let firstLine = 0;
  for (let group = 0; group < groups.length; group++) {
    for (let band = 0; band < bandCount; band++) {
      const index = group * bandCount + band;
      for (let window = 0; window < groups[group]; window++) {
        const at = firstLine + window * windowLines;
        const range: Range = [at + offsets[band], at + offsets[band + 1]];
        if (INTENSITY_BOOKS.includes(right.books[index])) {
          copyScaled(
            left.spectrum,
            right.spectrum,
            range,
            intensity(right, index, isMiddleSide[index] === 1),
          );
        } else if (isMiddleSide[index] && left.books[index] < NOISE_BOOK && right.books[index] < NOISE_BOOK) {
          addAndSubtract(left.spectrum, right.spectrum, range);
        }
      }
    }
    firstLine += groups[group] * windowLines;
  }
}

type Range = readonly [from: number, to: number];

function intensity({ books, scales }: ChannelStream, index: number, isInverted: boolean): number {
  const isInPhase = (books[index] === 15) !== isInverted;
  return (isInPhase ? 1 : -1) * 0.5 ** (scales[index] / 4);
}

function copyScaled(from: Float64Array, to: Float64Array, [start, end]: Range, scale: number): void {
  for (let i = start; i < end; i++) to[i] = from[i] * scale;
}

function addAndSubtract(left: Float64Array, right: Float64Array, [start, end]: Range): void {
  for (let i = start; i < end; i++) {
    const middle = left[i];
    left[i] = middle + right[i];
    right[i] = middle - right[i];
  }
}

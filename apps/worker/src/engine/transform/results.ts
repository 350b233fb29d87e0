/** What the outputs of a graph mean: a picture's channels, the grey values of a mask, or scores of labels. */
import { LehrError } from '@lehr/shared';
import type { TransformResult, TransformResultKind } from '../protocol/messages.ts';
import { allFinite } from '../runtime/tensor.ts';
import { type PictureSize, resizeValues } from '../values/resize.ts';
import { best, labelOf, scored } from '../values/scores.ts';
import type { Layout } from './preparation.ts';
import { type RowOutput, unusable } from './transform-graph.ts';

/** How values become grey: as they are from 0 to 1, through a sigmoid, or from the smallest to the largest one of each picture. */
export type MaskScale = 'unit' | 'sigmoid' | 'range';

export interface ClassReading {
  readonly labels: readonly string[];
  readonly function: 'softmax' | 'sigmoid' | 'none';
}

interface Plane extends PictureSize {
  readonly channels: number;
}

/** Throws LehrError `numeric-error`. */
export function checkFinite({ values }: RowOutput): void {
  if (allFinite(values)) return;
  throw new LehrError('numeric-error', 'The graph produced values that are not finite.');
}

/** Width, height and channels of a result that is a picture or a mask. Throws LehrError `model-unavailable` for another shape. */
export function planeOf(dims: readonly number[], layout: Layout): Plane {
  if (dims.length === 2) return { channels: 1, height: dims[0], width: dims[1] };
  if (dims.length === 3) {
    const isLast = layout === 'channels-last';
    const [channels, height, width] = isLast ? [dims[2], dims[0], dims[1]] : dims;
    return { channels, height, width };
  }
  throw unusable(`it gives [rows, ${dims.join(', ')}], wanted a picture`);
}

/** What a result must be, by its shape, for a folder of which nothing else is known. */
export function resultOf(dims: readonly number[], layout: Layout): TransformResultKind {
  if (dims.length < 2) return 'class';
  return planeOf(dims, layout).channels === 3 ? 'picture' : 'mask';
}

/** By the name of the output, else by the values that a picture full of contrasts gives. */
export function maskScaleOf(output: string, { values }: RowOutput): MaskScale {
  if (output === 'predicted_depth') return 'range';
  if (output === 'logits') return 'sigmoid';
  return values.every((value) => value >= 0 && value <= 1) ? 'unit' : 'range';
}

/** The mask of a picture. `used`: the shares of both sides that show the picture; the rest is its continuation. */
export function maskOf(
  { values, dims }: RowOutput,
  layout: Layout,
  scale: MaskScale,
  { picture, used }: { readonly picture: PictureSize; readonly used: PictureSize },
): TransformResult {
  const plane = planeOf(dims, layout);
  const part = {
    width: Math.max(1, Math.round(plane.width * used.width)),
    height: Math.max(1, Math.round(plane.height * used.height)),
  };
  const grey = inUnits(cropped(values, plane.width, part), scale);
  const whole = resizeValues(grey, [1, part.height, part.width], picture);
  const rounded = Uint8ClampedArray.from(whole, (value) => value * 255);
  return { kind: 'mask', values: new Uint8Array(rounded.buffer), ...sizeOf(picture) };
}

const sizeOf = ({ width, height }: PictureSize): PictureSize => ({ width, height });

function cropped(values: Float32Array, stride: number, { width, height }: PictureSize): Float32Array {
  if (values.length === width * height) return values;
  const part = new Float32Array(width * height);
  for (let y = 0; y < height; y += 1) part.set(values.subarray(y * stride, y * stride + width), y * width);
  return part;
}

function inUnits(values: Float32Array, scale: MaskScale): Float32Array {
  if (scale === 'unit') return values;
  if (scale === 'sigmoid') return values.map((value) => 1 / (1 + Math.exp(-value)));
  let [least, most] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const value of values) {
    if (value < least) least = value;
    if (value > most) most = value;
  }
  const range = most - least || 1;
  return values.map((value) => (value - least) / range);
}

export function classOf({ values }: RowOutput, reading: ClassReading, topK: number): TransformResult {
  const scores = scored(values, reading.function);
  const labels = best(scores, topK).map((i) => ({ label: labelOf(reading.labels, i), score: scores[i] }));
  return { kind: 'class', labels };
}

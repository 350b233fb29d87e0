/** How a picture becomes what a graph takes, as the image processors of transformers make it: its size, and the values of its pixels. */
import { LehrError } from '@lehr/shared';
import { type Filter, type PictureSize, resizePixels } from '../values/resize.ts';
import { cutTile } from './tiles.ts';

/** The size to which a whole picture is resized. */
export type SizeRule =
  /** Its own, continued by its mirror image up to multiples of `multiple`. */
  | { readonly kind: 'own'; readonly multiple: number }
  | ({ readonly kind: 'exact' } & PictureSize)
  /** Its shorter side has this length, and the longer one at most `longest`. */
  | { readonly kind: 'shortest'; readonly edge: number; readonly longest?: number | undefined }
  /** Keeps its shape; the side that changes least is exact. Both are multiples. */
  | ({ readonly kind: 'fit'; readonly multiple: number } & PictureSize);

export interface Preparation {
  readonly size: SizeRule;
  /** The middle of the resized picture. */
  readonly crop: PictureSize | undefined;
  readonly filter: Filter;
  /** Value = (pixel * rescale - mean) / std, by channel of RGB. */
  readonly rescale: number;
  readonly mean: readonly number[];
  readonly std: readonly number[];
  readonly channels: 'rgb' | 'bgr' | 'grey';
}

/** In which order a graph has the values of a row. */
export type Layout = 'channels-first' | 'channels-last';

/** What whole pictures become: resized or continued. */
function sizeFor(rule: SizeRule, { width, height }: PictureSize): PictureSize {
  switch (rule.kind) {
    case 'exact':
      return { width: rule.width, height: rule.height };
    case 'own': {
      const up = (side: number): number => Math.ceil(side / rule.multiple) * rule.multiple;
      return { width: up(width), height: up(height) };
    }
    case 'shortest': {
      const [short, long] = [Math.min(width, height), Math.max(width, height)];
      let edges = [rule.edge, Math.floor((rule.edge * long) / short)];
      if (rule.longest !== undefined && edges[1] > rule.longest)
        edges = [Math.max(1, Math.floor((rule.longest * edges[0]) / edges[1])), rule.longest];
      return width <= height ? { width: edges[0], height: edges[1] } : { width: edges[1], height: edges[0] };
    }
    case 'fit': {
      const scales = [rule.width / width, rule.height / height];
      const scale = Math.abs(1 - scales[0]) < Math.abs(1 - scales[1]) ? scales[0] : scales[1];
      const near = (side: number): number =>
        Math.max(1, halfToEven((scale * side) / rule.multiple)) * rule.multiple;
      return { width: near(width), height: near(height) };
    }
  }
}

/** As Python rounds. */
function halfToEven(value: number): number {
  const below = Math.floor(value);
  if (value - below !== 0.5) return Math.round(value);
  return below % 2 === 0 ? below : below + 1;
}

/** The middle of a picture; where it is smaller, black is around it. */
function cropMiddle(pixels: Uint8Array, from: PictureSize, to: PictureSize): Uint8Array {
  const cropped = new Uint8Array(to.width * to.height * 3);
  const top = Math.floor((from.height - to.height) / 2);
  const left = Math.floor((from.width - to.width) / 2);
  for (let y = Math.max(0, -top); y < Math.min(to.height, from.height - top); y += 1) {
    const first = Math.max(0, left);
    const source = ((y + top) * from.width + first) * 3;
    const count = Math.min(from.width - first, to.width - Math.max(0, -left)) * 3;
    cropped.set(pixels.subarray(source, source + count), (y * to.width + Math.max(0, -left)) * 3);
  }
  return cropped;
}

/** What any picture may become. A single row of pixels would become hundreds of millions, and the engine would stand still meanwhile. */
const MOST_PIXELS = 4 * 2 ** 20;
/** How many times as many pixels a larger picture may become. */
const MOST_GROWTH = 2;

/** What a graph gets of a whole picture. Throws LehrError `invalid-input` for a picture so narrow that this is far larger. */
export function preparedSize({ size: rule, crop }: Preparation, picture: PictureSize): PictureSize {
  const size = sizeFor(rule, picture);
  const most = Math.max(MOST_PIXELS, MOST_GROWTH * picture.width * picture.height);
  if (size.width * size.height > most) {
    const detail =
      `has ${picture.width}x${picture.height} pixels, which the model takes as ${size.width}x${size.height}; ` +
      `from this picture it takes at most ${most} pixels`;
    throw new LehrError('invalid-input', `input.image ${detail}.`, {
      problems: [{ pointer: '/input/image', detail }],
    });
  }
  return crop ?? size;
}

/** A whole picture at that size; one that keeps its own is continued by its mirror image. */
export function prepared(pixels: Uint8Array, picture: PictureSize, preparation: Preparation): Uint8Array {
  const { size: rule, filter, crop } = preparation;
  const size = sizeFor(rule, picture);
  if (rule.kind === 'own') return cutTile(pixels, picture, { top: 0, left: 0, ...size });
  const whole = resizePixels(pixels, picture, size, filter);
  return crop ? cropMiddle(whole, size, crop) : whole;
}

/** The share of both sides of a prepared picture that shows the picture; the rest is its continuation. */
export function shownPart({ size: rule }: Preparation, picture: PictureSize): PictureSize {
  if (rule.kind !== 'own') return { width: 1, height: 1 };
  const { width, height } = sizeFor(rule, picture);
  return { width: picture.width / width, height: picture.height / height };
}

/** RGB, 8 bits, to the values of one row. */
export function toValues(pixels: Uint8Array, preparation: Preparation, layout: Layout): Float32Array {
  const { channels } = preparation;
  const count = channels === 'grey' ? 1 : 3;
  const area = pixels.length / 3;
  const values = new Float32Array(area * count);
  for (let channel = 0; channel < count; channel += 1) {
    const table = tableOf(preparation, channel);
    const source = channels === 'bgr' ? 2 - channel : channel;
    const [from, step] = layout === 'channels-first' ? [channel * area, 1] : [channel, count];
    for (let i = 0; i < area; i += 1) {
      const pixel = channels === 'grey' ? luma(pixels, i * 3) : pixels[i * 3 + source];
      values[from + i * step] = table[pixel];
    }
  }
  return values;
}

/** What the values of a graph that gives pictures stand for: pixels of 0 to 255, not rounded, `[height, width, 3]`. */
export function toPixelValues(
  values: Float32Array,
  count: number,
  { rescale, mean, std, channels }: Preparation,
  layout: Layout,
): Float32Array {
  const area = values.length / count;
  const pixels = new Float32Array(area * 3);
  for (let target = 0; target < 3; target += 1) {
    const channel = count === 1 ? 0 : channels === 'bgr' ? 2 - target : target;
    const [from, step] = layout === 'channels-first' ? [channel * area, 1] : [channel, count];
    const factor = at(std, channel) / rescale;
    const shift = at(mean, channel) / rescale;
    for (let i = 0; i < area; i += 1) pixels[i * 3 + target] = values[from + i * step] * factor + shift;
  }
  return pixels;
}

/** One number is for all channels. */
const at = (numbers: readonly number[], channel: number): number => numbers[channel] ?? numbers[0];

/** By the value of a pixel. A mean is of a channel of the graph, whatever that shows. */
const tableOf = ({ rescale, mean, std }: Preparation, channel: number): Float32Array =>
  Float32Array.from({ length: 256 }, (_, pixel) => (pixel * rescale - at(mean, channel)) / at(std, channel));

/** As Pillow makes grey of RGB. */
const luma = (pixels: Uint8Array, i: number): number =>
  (pixels[i] * 19_595 + pixels[i + 1] * 38_470 + pixels[i + 2] * 7_471 + 0x8000) >> 16;

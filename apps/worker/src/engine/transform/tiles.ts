/**
 * Where a picture is cut into tiles of one size, and how the results are joined. A pure plan for one axis, used for both.
 *
 * Neighbours overlap. What is near the edge of a tile is dropped, because the graph saw nothing beyond it; in the middle of the overlap the
 * result goes over from one tile to the next. At the edges of the picture, tiles end where it ends, so that the graph sees the same edge as it
 * would in the whole picture. A picture that is smaller than a tile is continued by its mirror image.
 */
import { overlapOf, tilesAlong } from '@lehr/shared';
import type { PictureSize } from '../values/resize.ts';

/** A tile along one axis, in pixels of the picture. */
export interface Span {
  /** Where it begins. */
  readonly at: number;
  /** The part of the picture that its result is used for; the first `ramp` pixels are mixed with the one before. */
  readonly from: number;
  readonly to: number;
  readonly ramp: number;
}

export function planSpans(length: number, tile: number): Span[] {
  if (length <= tile) return [{ at: 0, from: 0, to: length, ramp: 0 }];
  const count = tilesAlong(length, tile);
  const starts = Array.from({ length: count }, (_, i) => Math.round((i * (length - tile)) / (count - 1)));
  const ramp = Math.max(1, Math.floor(overlapOf(tile) / 2));
  // The seam before each tile but the first begins here.
  const seams = starts.slice(1).map((at, i) => Math.floor((at + starts[i] + tile - ramp) / 2));
  return starts.map((at, i) => ({
    at,
    from: i === 0 ? 0 : seams[i - 1],
    to: i === count - 1 ? length : seams[i] + ramp,
    ramp: i === 0 ? 0 : ramp,
  }));
}

/** Rows of tiles from top to bottom, each from left to right. */
export interface TilePlan {
  readonly rows: readonly Span[];
  readonly columns: readonly Span[];
}

export const planTiles = (picture: PictureSize, tile: PictureSize): TilePlan => ({
  rows: planSpans(picture.height, tile.height),
  columns: planSpans(picture.width, tile.width),
});

/** The pixel that stands at a place on or beyond the edge of a side: its mirror image, and the mirror image of that. */
export function mirrored(at: number, length: number): number {
  const within = at % (2 * length);
  return within < length ? within : 2 * length - 1 - within;
}

/** A part of a picture, `[height, width, 3]`, continued where the picture ends. */
export function cutTile(
  pixels: Uint8Array,
  picture: PictureSize,
  { top, left, height, width }: PictureSize & { readonly top: number; readonly left: number },
): Uint8Array {
  const tile = new Uint8Array(height * width * 3);
  const columns = Math.min(width, picture.width - left);
  for (let y = 0; y < height; y += 1) {
    const source = (mirrored(top + y, picture.height) * picture.width + left) * 3;
    const target = y * width * 3;
    tile.set(pixels.subarray(source, source + columns * 3), target);
    for (let x = columns; x < width; x += 1) {
      const from = source + (mirrored(left + x, picture.width) - left) * 3;
      for (let channel = 0; channel < 3; channel += 1)
        tile[target + x * 3 + channel] = pixels[from + channel];
    }
  }
  return tile;
}

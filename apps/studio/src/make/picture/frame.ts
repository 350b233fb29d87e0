/** What is drawn around a picture: how far each edge is moved, and where the picture then lies. Pure. */
import type { PictureModel } from '../models.ts';

export const SIDES = ['left', 'right', 'top', 'bottom'] as const;
export type Side = (typeof SIDES)[number];
/** Pixels of the picture by which each edge is moved outwards. */
export type Expand = Readonly<Record<Side, number>>;

interface Size {
  readonly width: number;
  readonly height: number;
}

export const UNMOVED: Expand = { left: 0, right: 0, top: 0, bottom: 0 };
export const isMoved = (expand: Expand): boolean => SIDES.some((side) => expand[side] > 0);

const OPPOSITE: Readonly<Record<Side, Side>> = { left: 'right', right: 'left', top: 'bottom', bottom: 'top' };
export const isAcross = (side: Side): boolean => side === 'left' || side === 'right';

export const wholeOf = ({ width, height }: Size, { left, right, top, bottom }: Expand): Size => ({
  width: width + left + right,
  height: height + top + bottom,
});

/** Where the picture lies in the whole, in percent. */
export function placeOf(
  picture: Size,
  expand: Expand,
): Readonly<Record<'left' | 'top' | 'width' | 'height', string>> {
  const whole = wholeOf(picture, expand);
  const across = (pixels: number): string => `${(pixels / whole.width) * 100}%`;
  const down = (pixels: number): string => `${(pixels / whole.height) * 100}%`;
  return {
    left: across(expand.left),
    top: down(expand.top),
    width: across(picture.width),
    height: down(picture.height),
  };
}

/** How far an edge may be moved, so that the model can draw the whole at its own size where the picture is not larger already. */
export function mostOf(
  side: Side,
  picture: Size,
  expand: Expand,
  { max_size, size_step }: PictureModel['limits'],
): number {
  const length = isAcross(side) ? picture.width : picture.height;
  if (length >= max_size) return stepDown(length, size_step);
  return Math.max(0, stepDown(max_size - length - expand[OPPOSITE[side]], size_step));
}

/** With one edge at the step that is nearest to `pixels`. */
export function moved(
  side: Side,
  pixels: number,
  picture: Size,
  expand: Expand,
  limits: PictureModel['limits'],
): Expand {
  const step = limits.size_step;
  const nearest = Math.round(pixels / step) * step;
  return { ...expand, [side]: Math.min(Math.max(0, nearest), mostOf(side, picture, expand, limits)) };
}

const stepDown = (pixels: number, step: number): number => Math.floor(pixels / step) * step;

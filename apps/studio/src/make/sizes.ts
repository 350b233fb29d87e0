/** Sizes that a model can draw, for the choice of shapes. Pure. */
import type { PictureModel } from './models.ts';

type Shape = 'square' | 'portrait' | 'landscape';

export interface Size {
  readonly shape: Shape;
  readonly width: number;
  readonly height: number;
}

const RATIOS: Readonly<Record<Shape, number>> = { square: 1, portrait: 2 / 3, landscape: 3 / 2 };
const SHAPES = Object.keys(RATIOS) as Shape[];
const shapeOf = (ratio: number): Shape => (ratio === 1 ? 'square' : ratio < 1 ? 'portrait' : 'landscape');

/** For each shape the size nearest to the model's own number of pixels, and for a square also the smallest and the largest. */
export function sizesOf({ defaults, limits }: Pick<PictureModel, 'defaults' | 'limits'>): Size[] {
  const pixels = defaults.width * defaults.height;
  const sizes = SHAPES.map((shape) => sizeNear(RATIOS[shape], pixels, limits));
  const largest = sizeNear(1, Math.min(limits.max_pixels, limits.max_size ** 2), limits);
  const smallest = sizeNear(1, Math.max(pixels / 4, limits.min_size ** 2), limits);
  const seen = new Set<string>();
  return [...sizes, smallest, largest].filter(({ width, height }) => {
    const name = `${width}x${height}`;
    if (seen.has(name)) return false;
    seen.add(name);
    return true;
  });
}

/** The choices, and the size that is chosen where it is none of them. */
export function withChosen(
  sizes: readonly Size[],
  { width, height }: Pick<Size, 'width' | 'height'>,
): readonly Size[] {
  if (sizes.some((each) => each.width === width && each.height === height)) return sizes;
  return [{ shape: shapeOf(width / height), width, height }, ...sizes];
}

/** The size of a picture where the model draws it, else the nearest with its shape. */
export function sizeOf(
  { width, height }: Pick<Size, 'width' | 'height'>,
  { defaults, limits }: Pick<PictureModel, 'defaults' | 'limits'>,
): Pick<Size, 'width' | 'height'> {
  const fits = (side: number): boolean =>
    side >= limits.min_size && side <= limits.max_size && side % limits.size_step === 0;
  if (fits(width) && fits(height) && width * height <= limits.max_pixels) return { width, height };
  const near = sizeNear(width / height, defaults.width * defaults.height, limits);
  return { width: near.width, height: near.height };
}

function sizeNear(ratio: number, pixels: number, limits: PictureModel['limits']): Size {
  const { size_step: step, min_size, max_size, max_pixels } = limits;
  const fit = (side: number): number =>
    Math.min(max_size, Math.max(min_size, Math.round(side / step) * step));
  const width = fit(Math.sqrt(pixels * ratio));
  let height = fit(width / ratio);
  while (width * height > max_pixels && height - step >= min_size) height -= step;
  return { shape: shapeOf(width / height), width, height };
}

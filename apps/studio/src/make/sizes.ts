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

/** For each shape the size nearest to the model's own number of pixels, and for a square also the smallest and the largest. */
export function sizesOf({ defaults, limits }: Pick<PictureModel, 'defaults' | 'limits'>): Size[] {
  const pixels = defaults.width * defaults.height;
  const sizes = SHAPES.map((shape) => sizeNear(shape, pixels, limits));
  const largest = sizeNear('square', Math.min(limits.max_pixels, limits.max_size ** 2), limits);
  const smallest = sizeNear('square', Math.max(pixels / 4, limits.min_size ** 2), limits);
  const seen = new Set<string>();
  return [...sizes, smallest, largest].filter(({ width, height }) => {
    const name = `${width}x${height}`;
    if (seen.has(name)) return false;
    seen.add(name);
    return true;
  });
}

function sizeNear(shape: Shape, pixels: number, limits: PictureModel['limits']): Size {
  const ratio = RATIOS[shape];
  const { size_step: step, min_size, max_size, max_pixels } = limits;
  const fit = (side: number): number =>
    Math.min(max_size, Math.max(min_size, Math.round(side / step) * step));
  const width = fit(Math.sqrt(pixels * ratio));
  let height = fit(width / ratio);
  while (width * height > max_pixels && height - step >= min_size) height -= step;
  return { shape, width, height };
}

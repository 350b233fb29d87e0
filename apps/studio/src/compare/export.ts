/** Draws a comparison with its labels on a canvas and saves it as one PNG. */
import type { Image as Output } from '@lehr/client';
import { texts } from '../texts/index.ts';
import { AXES, type Comparison, valuesOf } from './comparison.ts';

/** Pictures are drawn in their own size up to this side, so that 36 large ones still fit on a canvas. */
const MAX_SIDE = 512;
const GAP = 12;
const MARGIN = 24;
const LABEL = 28;
const LABEL_WIDTH = 150;
const TITLE = 64;
const LEFT = MARGIN + LABEL_WIDTH;
const TOP = MARGIN + TITLE + LABEL;
const MIN_WIDTH = 480;
const FONT = 'ui-sans-serif, system-ui, sans-serif';
const INK = '#211c18';
const INK_SOFT = '#5f554b';
const GROUND = '#f6f3ee';
const BLANK = '#ece7df';

/** `outputs`: row by row. Rejects when one cannot be read. */
export async function savePicture(
  comparison: Comparison,
  outputs: readonly (Output | undefined)[],
): Promise<void> {
  const canvas = draw(comparison, await Promise.all(outputs.map(loadImage)));
  const blob = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, 'image/png'));
  if (!blob) throw new Error('the browser made no picture of the canvas');
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = texts.compare.fileName;
  link.click();
  URL.revokeObjectURL(link.href);
}

async function loadImage(output: Output | undefined): Promise<HTMLImageElement | undefined> {
  if (!output) return undefined;
  const { url } = output;
  const image = new Image();
  // A canvas with a picture of another origin can only be saved when its server allows it.
  if (new URL(url).origin !== location.origin) image.crossOrigin = 'anonymous';
  image.src = url;
  await image.decode();
  return image;
}

interface Layout {
  readonly xs: readonly string[];
  readonly ys: readonly string[];
  /** Pixels of a picture as it is drawn, and of the whole. */
  readonly cell: { readonly width: number; readonly height: number };
  readonly width: number;
  readonly height: number;
}

function layoutOf({ xs: across, ys: down, width, height }: Comparison): Layout {
  const [xs, ys] = [valuesOf(across), valuesOf(down)];
  const scale = Math.min(1, MAX_SIDE / Math.max(Number(width), Number(height)));
  const cell = { width: Math.round(Number(width) * scale), height: Math.round(Number(height) * scale) };
  return {
    xs,
    ys,
    cell,
    width: Math.max(MIN_WIDTH, LEFT + xs.length * (cell.width + GAP) - GAP + MARGIN),
    height: TOP + ys.length * (cell.height + GAP) - GAP + MARGIN,
  };
}

function draw(comparison: Comparison, images: readonly (HTMLImageElement | undefined)[]): HTMLCanvasElement {
  const layout = layoutOf(comparison);
  const canvas = document.createElement('canvas');
  canvas.width = layout.width;
  canvas.height = layout.height;
  const pen = canvas.getContext('2d');
  if (!pen) throw new Error('the browser has no canvas');
  pen.fillStyle = GROUND;
  pen.fillRect(0, 0, layout.width, layout.height);
  drawLabels(pen, comparison, layout);
  pen.fillStyle = BLANK;
  for (const [i, image] of images.entries()) {
    const { width, height } = layout.cell;
    const x = LEFT + (i % layout.xs.length) * (width + GAP);
    const y = TOP + Math.floor(i / layout.xs.length) * (height + GAP);
    if (image) pen.drawImage(image, x, y, width, height);
    else pen.fillRect(x, y, width, height);
  }
  return canvas;
}

function drawLabels(
  pen: CanvasRenderingContext2D,
  comparison: Comparison,
  { xs, ys, cell, width }: Layout,
): void {
  const axes = texts.compare.axes;
  pen.fillStyle = INK;
  pen.font = `600 20px ${FONT}`;
  pen.fillText(comparison.prompt, MARGIN, MARGIN + 20, width - 2 * MARGIN);
  pen.fillStyle = INK_SOFT;
  pen.font = `14px ${FONT}`;
  pen.fillText(fixedOf(comparison), MARGIN, MARGIN + 44, width - 2 * MARGIN);
  pen.fillStyle = INK;
  pen.font = `600 15px ${FONT}`;
  for (const [i, x] of xs.entries()) {
    pen.fillText(
      texts.compare.value(axes[comparison.x], x),
      LEFT + i * (cell.width + GAP),
      TOP - 10,
      cell.width,
    );
  }
  for (const [i, y] of ys.entries()) {
    const label = texts.compare.value(axes[comparison.y], y);
    pen.fillText(label, MARGIN, TOP + i * (cell.height + GAP) + 16, LABEL_WIDTH - GAP);
  }
}

/** The model and the settings that do not vary, in one line. */
function fixedOf(comparison: Comparison): string {
  const { model, x, y } = comparison;
  const fixed = AXES.filter((axis) => axis !== x && axis !== y && comparison[axis] !== '');
  return [
    model,
    ...fixed.map((axis) => texts.compare.value(texts.compare.axes[axis], comparison[axis])),
  ].join(' · ');
}

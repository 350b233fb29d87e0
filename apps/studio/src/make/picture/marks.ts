/** What is painted on a picture: a list of marks, drawn one after the other, so that each can be taken back. */

export interface Point {
  readonly x: number;
  readonly y: number;
}

/** Lengths and places are pixels of the picture. */
export interface Stroke {
  readonly kind: 'brush' | 'eraser';
  readonly width: number;
  readonly points: readonly Point[];
}

export type Mark =
  | Stroke
  /** A mask from a file: white where the picture changes, transparent elsewhere. */
  | { readonly kind: 'file'; readonly mask: OffscreenCanvas }
  | { readonly kind: 'invert' | 'clear' };

export type Drawing = CanvasRenderingContext2D | OffscreenCanvasRenderingContext2D;

/** Draws them in white on nothing. */
export function drawMarks(context: Drawing, marks: readonly Mark[]): void {
  const { width, height } = context.canvas;
  context.clearRect(0, 0, width, height);
  for (const mark of marks) drawMark(context, mark, '#fff');
  context.globalCompositeOperation = 'source-over';
}

function drawMark(context: Drawing, mark: Mark, colour: string): void {
  const { width, height } = context.canvas;
  context.globalCompositeOperation = 'source-over';
  if (mark.kind === 'brush' || mark.kind === 'eraser') drawStroke(context, mark, colour);
  else if (mark.kind === 'clear') context.clearRect(0, 0, width, height);
  else if (mark.kind === 'file') context.drawImage(mark.mask, 0, 0, width, height);
  else {
    context.globalCompositeOperation = 'source-out';
    context.fillStyle = colour;
    context.fillRect(0, 0, width, height);
  }
}

/** One stroke, or the part of it that is new. */
export function drawStroke(context: Drawing, { kind, width, points }: Stroke, colour: string): void {
  const [first, ...others] = points;
  if (!first) return;
  context.globalCompositeOperation = kind === 'brush' ? 'source-over' : 'destination-out';
  context.fillStyle = colour;
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.lineCap = 'round';
  context.lineJoin = 'round';
  // A line of no length is not drawn everywhere.
  context.beginPath();
  context.arc(first.x, first.y, width / 2, 0, 2 * Math.PI);
  context.fill();
  context.beginPath();
  context.moveTo(first.x, first.y);
  for (const { x, y } of others) context.lineTo(x, y);
  context.stroke();
}

/** All that is drawn becomes this colour. */
export function tint(context: Drawing, colour: string): void {
  context.globalCompositeOperation = 'source-in';
  context.fillStyle = colour;
  context.fillRect(0, 0, context.canvas.width, context.canvas.height);
}

/**
 * Turns the pixels of a mask into white with the weight as its opacity. As the API reads it: has it a transparent pixel, what is
 * transparent changes; else what is white.
 */
export function weighMask(pixels: Uint8ClampedArray): void {
  let isTransparent = false;
  for (let i = 3; i < pixels.length; i += 4) isTransparent ||= pixels[i] < 255;
  for (let i = 0; i < pixels.length; i += 4) {
    const grey = 0.299 * pixels[i] + 0.587 * pixels[i + 1] + 0.114 * pixels[i + 2];
    const weight = isTransparent ? 255 - pixels[i + 3] : grey;
    pixels.set([255, 255, 255, weight], i);
  }
}

/** The mask of the picture in Make: what is painted, with what, and the file that the API gets. */
import { signal } from '@preact/signals';
import { texts } from '../../texts/index.ts';
import { drawMarks, type Mark, type Stroke, weighMask } from './marks.ts';
import { type PictureFile, pngOf } from './picture-file.ts';

export const marks = signal<readonly Mark[]>([]);
export const tool = signal<Stroke['kind']>('brush');
/** Of the shorter side of the picture, in percent. */
export const brush = signal(14);
export const BRUSH = { min: 2, max: 50 };

export const mark = (next: Mark): void => {
  marks.value = [...marks.value, next];
};
export const undo = (): void => {
  marks.value = marks.value.slice(0, -1);
};
export const resizeBrush = (by: number): void => {
  brush.value = Math.min(BRUSH.max, Math.max(BRUSH.min, brush.value + by));
};
export const brushWidth = ({ width, height }: PictureFile): number =>
  (Math.min(width, height) * brush.value) / 100;

/** Another program's mask, in place of all that was painted. Throws what went wrong as a sentence. */
export async function readMask(file: Blob, { width, height }: PictureFile): Promise<Mark> {
  const bitmap = await createImageBitmap(file);
  const mask = new OffscreenCanvas(width, height);
  const context = mask.getContext('2d');
  if (!context) throw new Error('This browser draws nothing on a canvas.');
  context.drawImage(bitmap, 0, 0, width, height);
  const isOtherShape = Math.abs(bitmap.width * height - bitmap.height * width) > 0.02 * bitmap.width * height;
  bitmap.close();
  if (isOtherShape) throw new RangeError(texts.edit.maskShape);
  const pixels = context.getImageData(0, 0, width, height);
  weighMask(pixels.data);
  context.putImageData(pixels, 0, 0);
  return { kind: 'file', mask };
}

/** White on black, of the size of the picture. Undefined when nothing is painted. */
export async function maskFile({ width, height }: PictureFile): Promise<Blob | undefined> {
  let isPainted = false;
  const file = await pngOf(width, height, (context) => {
    drawMarks(context, marks.value);
    const { data } = context.getImageData(0, 0, width, height);
    for (let i = 3; i < data.length && !isPainted; i += 4) isPainted = data[i] > 0;
    context.globalCompositeOperation = 'destination-over';
    context.fillStyle = '#000';
    context.fillRect(0, 0, width, height);
  });
  return isPainted ? file : undefined;
}

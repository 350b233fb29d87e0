/** The picture that a job begins at, as a file that the API takes, with its size. */

export interface PictureFile {
  readonly file: Blob;
  /** A `blob:` URL of the file. */
  readonly url: string;
  readonly width: number;
  readonly height: number;
}

/** No model draws more; the photo of a camera would be sent for nothing. */
const MOST_PX = 2048;

/**
 * Reads any picture that the browser knows. A large one is made smaller, and all but PNG files are drawn anew, so that every part of Lehr
 * sees the same pixels: a photo may say how it must be turned. Rejects for what is no picture.
 */
export async function readPicture(blob: Blob): Promise<PictureFile> {
  const bitmap = await createImageBitmap(blob);
  try {
    const scale = Math.min(1, MOST_PX / Math.max(bitmap.width, bitmap.height));
    const width = Math.max(1, Math.round(bitmap.width * scale));
    const height = Math.max(1, Math.round(bitmap.height * scale));
    const isKept = scale === 1 && blob.type === 'image/png';
    const file = isKept
      ? blob
      : await pngOf(width, height, (context) => context.drawImage(bitmap, 0, 0, width, height));
    return { file, url: URL.createObjectURL(file), width, height };
  } finally {
    bitmap.close();
  }
}

/** What `draw` draws, as a PNG file. */
export async function pngOf(
  width: number,
  height: number,
  draw: (context: OffscreenCanvasRenderingContext2D) => void,
): Promise<Blob> {
  const canvas = new OffscreenCanvas(width, height);
  const context = canvas.getContext('2d');
  if (!context) throw new Error('This browser draws nothing on a canvas.');
  draw(context);
  return canvas.convertToBlob({ type: 'image/png' });
}

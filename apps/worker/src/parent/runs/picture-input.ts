/**
 * The picture that a job begins at: a file of any size to the pixels of the job, with sharp, off this thread. Files come from callers,
 * so only three formats are read, recognised by their first bytes, and no picture of more than MAX_PIXELS.
 */
import { LehrError } from '@lehr/shared';
import sharp from 'sharp';

/** Of the file, before it is stretched: a phone's picture. */
const MAX_PIXELS = 64_000_000;
/** A file that takes longer to decode is refused. */
const TIMEOUT_S = 20;

/** A JPEG that is not read from top to bottom is kept as two bytes a value. */
const JPEG_BYTES = 2;

export interface PixelSize {
  readonly width: number;
  readonly height: number;
}

/**
 * The most memory that its decoding takes: all of its pixels, as when it is interlaced, progressive or has to be turned. Throws as
 * readPicture does.
 */
export async function decodedBytes(file: Uint8Array): Promise<number> {
  if (!isKnownFormat(file)) throw unknownFormat();
  try {
    const { width, height, channels, depth, format } = await sharp(file).metadata();
    const pixels = width * height;
    if (pixels > MAX_PIXELS) throw tooManyPixels();
    return pixels * channels * (format === 'jpeg' ? JPEG_BYTES : depth === 'ushort' ? 2 : 1);
  } catch (error) {
    throw error instanceof LehrError ? error : unreadable(error);
  }
}

/**
 * RGB, 8 bits, row-major, height x width x 3. Turned as the file's EXIF orientation says, put on white where it is transparent, and
 * stretched to the size, as diffusers does. Throws LehrError `invalid-input` for what is no picture.
 */
export async function readPicture(file: Uint8Array, { width, height }: PixelSize): Promise<Uint8Array> {
  if (!isKnownFormat(file)) throw unknownFormat();
  try {
    const pixels = await sharp(file, { limitInputPixels: MAX_PIXELS, failOn: 'error', autoOrient: true })
      .timeout({ seconds: TIMEOUT_S })
      .flatten({ background: '#ffffff' })
      .toColourspace('srgb')
      .resize(width, height, { fit: 'fill', kernel: 'lanczos3' })
      .raw()
      .toBuffer();
    return new Uint8Array(pixels.buffer, pixels.byteOffset, pixels.byteLength);
  } catch (error) {
    throw /pixel limit/i.test((error as Error).message) ? tooManyPixels(error) : unreadable(error);
  }
}

/** Of a latent that another picture has left, in the format safetensors: 8 bytes of length, then JSON. The engine reads it. */
export const isLatentFile = (file: Uint8Array): boolean =>
  file[8] === '{'.charCodeAt(0) && !isKnownFormat(file);

/** sharp reads SVG, PDF and more, which can refer to other files or take long to draw. */
function isKnownFormat(file: Uint8Array): boolean {
  const start = Buffer.from(file.buffer, file.byteOffset, Math.min(file.byteLength, 12));
  const isPng = start.subarray(0, 8).equals(Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'));
  const isJpeg = start.subarray(0, 3).equals(Buffer.from([0xff, 0xd8, 0xff]));
  const isWebp = start.toString('latin1', 0, 4) === 'RIFF' && start.toString('latin1', 8, 12) === 'WEBP';
  return isPng || isJpeg || isWebp;
}

const unknownFormat = (): LehrError => refused('must be a PNG, JPEG or WebP file');

const tooManyPixels = (cause?: unknown): LehrError => refused(`has more than ${MAX_PIXELS} pixels`, cause);

const unreadable = (error: unknown): LehrError =>
  refused(`cannot be read: ${(error as Error).message}`, error);

const refused = (detail: string, cause?: unknown): LehrError =>
  new LehrError('invalid-input', `The picture of /input/image ${detail}.`, {
    problems: [{ pointer: '/input/image', detail }],
    cause,
  });

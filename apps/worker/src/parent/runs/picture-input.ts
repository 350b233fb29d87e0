/**
 * The pictures of a job: a file of any size to the pixels of the job, with sharp, off this thread. Files come from callers,
 * so only three formats are read, recognised by their first bytes, and no picture of more than MAX_PIXELS.
 */
import { LehrError } from '@lehr/shared';
import sharp, { type Sharp } from 'sharp';

/** Of the file, before it is stretched: a phone's picture. */
const MAX_PIXELS = 64_000_000;
/** A file that takes longer to decode is refused. */
const TIMEOUT_S = 20;

const PNG_START = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');
/** Of a chunk of a PNG: its length, its type and its checksum. */
const CHUNK_FRAME_BYTES = 12;

/** A JPEG that is not read from top to bottom is kept as two bytes a value. */
const JPEG_BYTES = 2;

export interface PixelSize {
  readonly width: number;
  readonly height: number;
}

/** A part of a picture. */
export interface Region extends PixelSize {
  readonly left: number;
  readonly top: number;
}

/** The field of the request that names the file. */
export type PictureField = 'image' | 'mask' | `control/${number}/image`;

/** What a file says of its picture, turned as its EXIF orientation says. */
export interface PictureInfo extends PixelSize {
  /** The most memory that its decoding takes: all of its pixels, as when it is interlaced, progressive or has to be turned. */
  readonly decodedBytes: number;
  /** Whether it has several pictures. */
  readonly isAnimated: boolean;
  /** Whether its format may have changed the pixels that were drawn. */
  readonly isLossy: boolean;
  /** Whether it holds a latent and no picture. */
  readonly isLatent: boolean;
}

const LATENT: PictureInfo = {
  width: 0,
  height: 0,
  decodedBytes: 0,
  isAnimated: false,
  isLossy: false,
  isLatent: true,
};

/** Throws LehrError `invalid-input` for what is no picture, and in the field `image` no latent either. */
export async function inspectPicture(file: Uint8Array, field: PictureField): Promise<PictureInfo> {
  if (field === 'image' && isLatentFile(file)) return LATENT;
  if (!isKnownFormat(file)) throw refusedPicture(field, 'must be a PNG, JPEG or WebP file');
  try {
    const { autoOrient, channels, depth, format, pages = 1 } = await sharp(file).metadata();
    const { width, height } = autoOrient;
    const pixels = width * height;
    if (pixels > MAX_PIXELS) throw tooManyPixels(field);
    const valueBytes = format === 'jpeg' ? JPEG_BYTES : depth === 'ushort' ? 2 : 1;
    return {
      width,
      height,
      decodedBytes: pixels * channels * valueBytes,
      isAnimated: pages > 1 || isAnimatedPng(file),
      isLossy: format !== 'png',
      isLatent: false,
    };
  } catch (error) {
    throw error instanceof LehrError ? error : unreadable(field, error);
  }
}

/**
 * RGB, 8 bits, row-major, height x width x 3. Turned as the file's EXIF orientation says, put on white where it is transparent, and
 * stretched to the size, as diffusers does. Throws as inspectPicture does.
 */
export const readPicture = (
  file: Uint8Array,
  { width, height }: PixelSize,
  field: PictureField = 'image',
): Promise<Uint8Array> =>
  decodePicture(file, field, (picture) =>
    picture
      .flatten({ background: '#ffffff' })
      .toColourspace('srgb')
      .resize(width, height, { fit: 'fill', kernel: 'lanczos3' }),
  );

/** A part of a picture of its own size: RGB as readPicture gives it, stretched to the size. */
export const readRegion = (
  file: Uint8Array,
  region: Region,
  { width, height }: PixelSize,
): Promise<Uint8Array> =>
  decodePicture(file, 'image', (picture) =>
    picture
      .flatten({ background: '#ffffff' })
      .toColourspace('srgb')
      .extract(region)
      .resize(width, height, { fit: 'fill', kernel: 'lanczos3' }),
  );

/** The picture stretched to a part of a canvas, and mirrored around it: RGB as readPicture gives it, of the size of the canvas. */
export const readWithin = (file: Uint8Array, canvas: PixelSize, part: Region): Promise<Uint8Array> =>
  decodePicture(file, 'image', (picture) =>
    picture
      .flatten({ background: '#ffffff' })
      .toColourspace('srgb')
      .resize(part.width, part.height, { fit: 'fill', kernel: 'lanczos3' })
      .extend({
        left: part.left,
        top: part.top,
        right: canvas.width - part.left - part.width,
        bottom: canvas.height - part.top - part.height,
        extendWith: 'mirror',
      }),
  );

/** Stretches pixels of 8 bits. The kernel of a mask has no negative weights, which would leave traces of it around it. */
export const stretched = (
  pixels: Uint8Array,
  from: PixelSize,
  to: PixelSize,
  channels: 1 | 3,
): Promise<Uint8Array> =>
  bytesOf(
    sharp(pixels, { raw: { width: from.width, height: from.height, channels } })
      .resize(to.width, to.height, { fit: 'fill', kernel: channels === 1 ? 'linear' : 'lanczos3' })
      .toColourspace(channels === 1 ? 'b-w' : 'srgb'),
  );

/** Decodes a file and returns the bytes of what `make` makes of it. Throws as inspectPicture does. */
export async function decodePicture(
  file: Uint8Array,
  field: PictureField,
  make: (picture: Sharp) => Sharp,
): Promise<Uint8Array> {
  if (!isKnownFormat(file)) throw refusedPicture(field, 'must be a PNG, JPEG or WebP file');
  try {
    const options = { limitInputPixels: MAX_PIXELS, failOn: 'error', autoOrient: true } as const;
    return await bytesOf(make(sharp(file, options).timeout({ seconds: TIMEOUT_S })));
  } catch (error) {
    throw /pixel limit/i.test((error as Error).message)
      ? tooManyPixels(field, error)
      : unreadable(field, error);
  }
}

/** Of a latent that another picture has left, in the format safetensors: 8 bytes of length, then JSON. The engine reads it. */
export const isLatentFile = (file: Uint8Array): boolean =>
  file[8] === '{'.charCodeAt(0) && !isKnownFormat(file);

/** A Gaussian blur of a mask: 8 bits, height x width. */
export const blurred = (mask: Uint8Array, { width, height }: PixelSize, sigma: number): Promise<Uint8Array> =>
  bytesOf(
    sharp(mask, { raw: { width, height, channels: 1 } })
      .blur(sigma)
      .toColourspace('b-w'),
  );

async function bytesOf(picture: Sharp): Promise<Uint8Array> {
  const pixels = await picture.raw().toBuffer();
  return new Uint8Array(pixels.buffer, pixels.byteOffset, pixels.byteLength);
}

/** Of an animated PNG, sharp sees the first picture alone. The chunk `acTL` is before its pixels. */
function isAnimatedPng(file: Uint8Array): boolean {
  const { buffer, byteOffset, byteLength } = file;
  const bytes = Buffer.from(buffer, byteOffset, byteLength);
  if (bytes[0] !== PNG_START[0]) return false;
  for (
    let at = PNG_START.byteLength;
    at + 8 <= byteLength;
    at += bytes.readUInt32BE(at) + CHUNK_FRAME_BYTES
  ) {
    const type = bytes.toString('latin1', at + 4, at + 8);
    if (type === 'acTL' || type === 'IDAT') return type === 'acTL';
  }
  return false;
}

/** sharp reads SVG, PDF and more, which can refer to other files or take long to draw. */
function isKnownFormat(file: Uint8Array): boolean {
  const start = Buffer.from(file.buffer, file.byteOffset, Math.min(file.byteLength, 12));
  const isPng = start.subarray(0, 8).equals(PNG_START);
  const isJpeg = start.subarray(0, 3).equals(Buffer.from([0xff, 0xd8, 0xff]));
  const isWebp = start.toString('latin1', 0, 4) === 'RIFF' && start.toString('latin1', 8, 12) === 'WEBP';
  return isPng || isJpeg || isWebp;
}

const tooManyPixels = (field: PictureField, cause?: unknown): LehrError =>
  refusedPicture(field, `has more than ${MAX_PIXELS} pixels`, cause);

const unreadable = (field: PictureField, error: unknown): LehrError =>
  refusedPicture(field, `cannot be read: ${(error as Error).message}`, error);

export const refusedPicture = (field: PictureField, detail: string, cause?: unknown): LehrError =>
  new LehrError('invalid-input', `The picture of /input/${field} ${detail}.`, {
    problems: [{ pointer: `/input/${field}`, detail }],
    cause,
  });

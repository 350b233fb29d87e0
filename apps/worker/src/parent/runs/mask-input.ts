/** The mask of a job: which pixels of its picture are drawn again, from what callers send as one. */
import { blurred, decodePicture, type PictureInfo, type PixelSize, refusedPicture } from './picture-input.ts';

const OPAQUE = 255;
const CHANNELS = 4;

export interface MaskOptions {
  /** Of the file of the picture, which that of the mask must have too. */
  readonly picture: PixelSize;
  /** What the file marks is kept, and the rest drawn again. */
  readonly isInverted?: boolean | undefined;
  /** Of the Gaussian blur of its edge, in pixels of the job. */
  readonly blur: number;
}

/**
 * 8 bits, height x width: 255 is drawn again, 0 kept. What is transparent is drawn again, as OpenAI has it; in a mask with nothing
 * transparent, what is white. Stretched as the picture is. Throws LehrError `invalid-input` for a mask of another size, and one with
 * nothing to draw.
 */
export async function readMask(
  file: Uint8Array,
  info: PictureInfo,
  { width, height }: PixelSize,
  { picture, isInverted, blur }: MaskOptions,
): Promise<Uint8Array> {
  if (info.isAnimated) throw refusedPicture('mask', 'is animated; a mask is one picture');
  if (info.width !== picture.width || info.height !== picture.height) {
    const sizes = `${info.width}x${info.height} pixels, and the image ${picture.width}x${picture.height}`;
    throw refusedPicture('mask', `has ${sizes}; both must have the same size`);
  }
  const pixels = await decodePicture(file, 'mask', (mask) =>
    mask
      .toColourspace('srgb')
      .ensureAlpha()
      // A kernel with negative weights would leave traces of the mask around it.
      .resize(width, height, { fit: 'fill', kernel: 'linear' }),
  );
  const read = weightsOf(pixels);
  const marked = info.isLossy ? read.map(snapped) : read;
  const mask = isInverted ? marked.map((weight) => OPAQUE - weight) : marked;
  if (isBlack(mask)) {
    const isSmaller = width < info.width || height < info.height;
    const why = isSmaller
      ? `nothing of it is left in ${width}x${height} pixels`
      : 'no pixel of it is transparent, and all are black';
    throw marksNothing(isInverted ? 'it is inverted, and all of it is marked' : why);
  }
  if (blur === 0) return mask;
  const soft = await blurred(mask, { width, height }, blur);
  if (isBlack(soft)) throw marksNothing(`the blur of ${blur} pixels leaves nothing of it`);
  return soft;
}

const isBlack = (mask: Uint8Array): boolean => mask.every((weight) => weight === 0);

const marksNothing = (why: string) => refusedPicture('mask', `marks nothing to change: ${why}`);

/** What compression may add to black or take from white: one such pixel at an edge of the picture would make all of it the mask. */
const LOSS = 16;

const snapped = (weight: number): number => {
  if (weight < LOSS) return 0;
  return weight > OPAQUE - LOSS ? OPAQUE : weight;
};

function weightsOf(pixels: Uint8Array): Uint8Array {
  const weights = new Uint8Array(pixels.length / CHANNELS);
  let isOpaque = true;
  for (let i = 0; i < weights.length; i++) {
    weights[i] = OPAQUE - pixels[i * CHANNELS + 3];
    if (weights[i] > 0) isOpaque = false;
  }
  if (!isOpaque) return weights;
  for (let i = 0; i < weights.length; i++) {
    const [red, green, blue] = [pixels[i * CHANNELS], pixels[i * CHANNELS + 1], pixels[i * CHANNELS + 2]];
    weights[i] = brightness(red, green, blue);
  }
  return weights;
}

/** ITU-R 601, in whole numbers: white stays 255 and black 0. The same as Pillow's. */
const brightness = (red: number, green: number, blue: number): number =>
  (red * 19_595 + green * 38_470 + blue * 7_471 + 0x8000) >> 16;

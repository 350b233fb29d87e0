/** The parts of edits and controls that read every pixel of a picture, which may have 16 million: the worker has them done by a thread (edit-thread.ts). */
import { createHash } from 'node:crypto';
import { cannyEdges } from './canny.ts';
import { cropRegion } from './crop-region.ts';
import { type MaskOptions, readMask } from './mask-input.ts';
import { type PictureInfo, type PixelSize, type Region, readPicture, stretched } from './picture-input.ts';

/** RGB, 8 bits, height x width x 3. */
export interface Pixels extends PixelSize {
  readonly data: Uint8Array;
}

/** 8 bits, height x width: 255 is drawn again, 0 kept. */
interface Mask {
  readonly data: Uint8Array;
}

/** That of a part of a picture. */
interface MaskPart extends Mask {
  readonly region: Region;
}

export interface PartOptions extends MaskOptions {
  readonly padding: number;
  readonly drawn: PixelSize;
}

/** Each gives new `data`. All but `paste`, `noise` and `canny` throw as readMask and readPicture do. */
export const editWork = {
  /** At the size of the job, or of its second pass. */
  async mask(file: Uint8Array, info: PictureInfo, size: PixelSize, options: MaskOptions): Promise<Mask> {
    return { data: await readMask(file, info, size, options) };
  },

  /** The part of the picture around its mask, and the mask there. */
  async part(file: Uint8Array, info: PictureInfo, options: PartOptions): Promise<MaskPart> {
    const { picture, padding, drawn } = options;
    const whole = await readMask(file, info, picture, options);
    const region = cropRegion(whole, picture, drawn, padding);
    return { region, data: cut(whole, picture, region) };
  },

  /** The picture of a file with what was drawn of a part of it. */
  async paint(
    file: Uint8Array,
    size: PixelSize,
    drawn: Pixels,
    { region, data: mask }: MaskPart,
  ): Promise<Pixels> {
    const patch = await stretched(drawn.data, drawn, region, 3);
    const picture = { ...size, data: await readPicture(file, size) };
    paste({ ...region, data: patch }, mask, picture, region);
    return picture;
  },

  /** A picture of the size of what was drawn, with that. */
  async paste(image: Uint8Array, mask: Uint8Array, drawn: Pixels): Promise<Pixels> {
    const data = image.slice();
    paste(drawn, mask, { ...drawn, data }, { left: 0, top: 0 });
    return { ...drawn, data };
  },

  /** A picture with noise under its mask: the same for the same seed. */
  async noise(image: Uint8Array, mask: Uint8Array, size: PixelSize, seed: number): Promise<Pixels> {
    const noise = createHash('shake256', { outputLength: image.length }).update(`${seed}`).digest();
    return editWork.paste(image, mask, { ...size, data: noise });
  },

  /** The edges of a picture, white on black. */
  async canny(image: Uint8Array, size: PixelSize): Promise<Pixels> {
    return { ...size, data: cannyEdges(image, size) };
  },
};
export type EditWork = typeof editWork;

/** A part of a mask. */
function cut(mask: Uint8Array, { width }: PixelSize, region: Region): Uint8Array {
  const part = new Uint8Array(region.width * region.height);
  for (let y = 0; y < region.height; y++) {
    const at = (region.top + y) * width + region.left;
    part.set(mask.subarray(at, at + region.width), y * region.width);
  }
  return part;
}

const WHITE = 255;
const COLOURS = 3;

/** Puts drawn pixels into a picture: those where the mask is white, none where it is black, and a mix of both where it is grey. */
function paste(
  drawn: Pixels,
  mask: Uint8Array,
  onto: Pixels,
  { left, top }: Pick<Region, 'left' | 'top'>,
): void {
  for (let y = 0; y < drawn.height; y++) {
    const line = ((top + y) * onto.width + left) * COLOURS;
    for (let x = 0; x < drawn.width; x++) {
      const weight = mask[y * drawn.width + x];
      if (weight === 0) continue;
      const from = (y * drawn.width + x) * COLOURS;
      for (let i = 0; i < COLOURS; i++) {
        const at = line + x * COLOURS + i;
        onto.data[at] = Math.round(
          (onto.data[at] * (WHITE - weight) + drawn.data[from + i] * weight) / WHITE,
        );
      }
    }
  }
}

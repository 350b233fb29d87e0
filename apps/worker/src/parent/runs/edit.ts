/**
 * The picture that a job begins at, the part of it that is drawn again, and the rest, which stays as it is. What is kept is put back
 * into every drawn picture, bit for bit.
 */
import { type Expand, passesOf, type TextToImageInput } from '@lehr/shared';
import type { EditWork, Pixels } from './edit-work.ts';
import type { MaskOptions } from './mask-input.ts';
import {
  blurred,
  type PictureField,
  type PictureInfo,
  type PixelSize,
  type Region,
  readPicture,
  readRegion,
  readWithin,
  refusedPicture,
  stretched,
} from './picture-input.ts';

/** What the engine gets of it. */
interface Start {
  /** RGB, 8 bits, height x width x 3. */
  readonly image?: Uint8Array;
  /** 8 bits, height x width: 255 is drawn again, 0 kept. */
  readonly mask?: Uint8Array;
  /** In place of a picture: the file of a latent. */
  readonly latent?: Uint8Array;
}

/** The picture and its mask at the size of a pass, each as of `Start`. */
interface Kept {
  readonly image: Uint8Array;
  readonly mask: Uint8Array;
}

export interface Edit {
  readonly start: Start;
  /** For the second pass of a job that has one. */
  readonly second?: Kept | undefined;
  /** Puts what was kept into a drawn picture, and passes it to `use`. Large pictures hold memory until that resolves. */
  finish<Result>(drawn: Pixels, use: (pixels: Pixels) => Promise<Result>): Promise<Result>;
}

interface ReadOptions {
  /** One that was read before. */
  readonly file?: Uint8Array;
  /** As of PictureToRead. */
  readonly moreBytes?: number;
}

/** Reads the file of a field: `decode` makes of it what is wanted. */
export type ReadField = <Result>(
  field: Exclude<PictureField, `control/${number}/image`>,
  decode: (file: Uint8Array, info: PictureInfo) => Promise<Result>,
  options?: ReadOptions,
) => Promise<Result>;

export interface EditParts {
  readonly read: ReadField;
  readonly work: EditWork;
}

/** One file after the other, so that a job never holds the memory of two. Rejects with LehrError `invalid-input` that names the field. */
export function openEdit(input: TextToImageInput, parts: EditParts): Promise<Edit> {
  if (input.expand) return expanded(input, input.expand, parts);
  if (input.only_masked) return onlyMasked(input, input.only_masked.padding, parts);
  return whole(input, parts);
}

async function whole(input: TextToImageInput, parts: EditParts): Promise<Edit> {
  if (input.mask) return masked(input, parts);
  const start = await parts.read(
    'image',
    async (file, info): Promise<Start> =>
      info.isLatent ? { latent: file } : { image: await readPicture(file, input) },
  );
  return { start, finish: asDrawn };
}

const asDrawn: Edit['finish'] = (drawn, use) => use(drawn);

async function masked(input: TextToImageInput, { read, work }: EditParts): Promise<Edit> {
  const { latent, picture, images } = await read('image', async (file, info) =>
    info.isLatent
      ? { latent: file, picture: input, images: [] }
      : { picture: info, images: await ofEachPass(input, (pass) => readPicture(file, pass)) },
  );
  if (latent && (input.hires || input.mask_fill === 'noise')) throw refusedLatent();
  const masks = await read('mask', (file, info) =>
    ofEachPass(input, async (pass, scale) => {
      const { width, height } = pass;
      const options = maskOptions(input, picture, scale);
      return (await work.mask(file, info, { width, height }, options)).data;
    }),
  );
  // Of a latent, nothing is known that could be put back.
  if (latent) return { start: { latent, mask: masks[0] }, finish: asDrawn };
  return inPlace(
    input,
    images.map((image, pass) => ({ image, mask: masks[pass] })),
    work,
  );
}

/** Of the first pass and of the second one, one after the other. `scale`: how many times as wide as the first one it is. */
async function ofEachPass<Result>(
  input: TextToImageInput,
  make: (pass: PixelSize, scale: number) => Promise<Result>,
): Promise<Result[]> {
  const made: Result[] = [];
  for (const pass of passesOf(input)) made.push(await make(pass, pass.width / input.width));
  return made;
}

const refusedLatent = () =>
  refusedPicture('image', 'is a latent; with only_masked, hires or noise in a mask it must be a picture');

const maskOptions = (
  { mask_invert, mask_blur = 0 }: TextToImageInput,
  picture: PixelSize,
  scale = 1,
): MaskOptions => ({ picture, isInverted: mask_invert, blur: mask_blur * scale });

/** Draws more around the picture. */
async function expanded(input: TextToImageInput, expand: Expand, { read, work }: EditParts): Promise<Edit> {
  const { mask_blur: blur = 0 } = input;
  const passes = await read('image', (file, info) => {
    if (info.isLatent) throw refusedPicture('image', 'is a latent; with expand it must be a picture');
    return ofEachPass(input, async (pass, scale) => {
      const part = partOf(expand, info, pass);
      const mask = maskAround(part, pass);
      return {
        image: await readWithin(file, pass, part),
        mask: blur === 0 ? mask : await blurred(mask, pass, blur * scale),
      };
    });
  });
  return inPlace(input, passes, work);
}

/** Where the picture is in the size of the job. */
function partOf({ left, right, top, bottom }: Expand, picture: PixelSize, job: PixelSize): Region {
  const span = (before: number, own: number, after: number, length: number) => {
    const scale = length / (before + own + after);
    const from = Math.min(Math.round(before * scale), length - 1);
    return { from, length: Math.max(1, Math.round((before + own) * scale) - from) };
  };
  const across = span(left, picture.width, right, job.width);
  const down = span(top, picture.height, bottom, job.height);
  return { left: across.from, width: across.length, top: down.from, height: down.length };
}

function maskAround({ left, top, width, height }: Region, job: PixelSize): Uint8Array {
  const mask = new Uint8Array(job.width * job.height).fill(255);
  for (let y = top; y < top + height; y++) mask.fill(0, y * job.width + left, y * job.width + left + width);
  return mask;
}

/** `passes`: the picture and its mask for each of them. */
async function inPlace(input: TextToImageInput, passes: readonly Kept[], work: EditWork): Promise<Edit> {
  const [first, second] = passes;
  const { image, mask } = second ?? first;
  return {
    start: { image: await filled(input, first, work), mask: first.mask },
    second,
    finish: async (drawn, use) => use(await work.paste(image, mask, drawn)),
  };
}

/** The picture keeps its size, so it is decoded whole. */
const MAX_PIXELS = 4096 * 4096;

/** Of each pixel, beside those of the file: its mask in four channels, and its weights before and after they are cut. */
const PART_BYTES = 6;
/** The painted picture and the part that was drawn, at the size of the file; the copy for the parent; and the mask. */
const PAINT_BYTES = 10;

/** Draws the part around the mask alone. The file stays in memory; its pixels do not. */
async function onlyMasked(
  input: TextToImageInput,
  padding: number,
  { read, work }: EditParts,
): Promise<Edit> {
  const { file, picture } = await read('image', async (file, { width, height, isLatent }) => {
    if (isLatent) throw refusedLatent();
    return { file, picture: { width, height } };
  });
  if (picture.width * picture.height > MAX_PIXELS)
    throw refusedPicture('image', `has more than ${MAX_PIXELS} pixels, the most with only_masked`);
  const options = maskOptions(input, picture);
  const pixels = picture.width * picture.height;
  const { width, height } = input;
  const partOptions = { ...options, padding, drawn: { width, height } };
  const part = await read('mask', (maskFile, info) => work.part(maskFile, info, partOptions), {
    moreBytes: PART_BYTES * pixels,
  });
  const { region, data: mask } = part;
  const [first, second] = await read(
    'image',
    () =>
      ofEachPass(input, async (pass) => ({
        image: await readRegion(file, region, pass),
        mask: await stretched(mask, region, pass, 1),
      })),
    { file },
  );
  return {
    start: { image: await filled(input, first, work), mask: first.mask },
    second,
    finish: (drawn, use) =>
      read('image', async () => use(await work.paint(file, picture, drawn, part)), {
        file,
        moreBytes: PAINT_BYTES * pixels,
      }),
  };
}

/** The picture with what its drawing begins at under the mask; noise in the latent is the engine's. */
async function filled(
  { mask_fill, seed, width, height }: TextToImageInput,
  { image, mask }: Kept,
  work: EditWork,
): Promise<Uint8Array> {
  return mask_fill === 'noise' ? (await work.noise(image, mask, { width, height }, seed)).data : image;
}

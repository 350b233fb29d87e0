/** The control pictures of a job, at the size of its first pass. The engine makes those that a model makes, and enlarges them for a second pass. */
import { type Control, isPlainPreprocess, type TextToImageInput } from '@lehr/shared';
import type { DiffusionSample } from '../../engine/protocol/messages.ts';
import type { EditWork } from './edit-work.ts';
import {
  type PictureField,
  type PictureInfo,
  type PixelSize,
  readPicture,
  refusedPicture,
} from './picture-input.ts';

type ControlUses = NonNullable<DiffusionSample['controls']>;

/** Reads the file of a control: `decode` makes of it what is wanted. */
type ReadControl = (
  control: Control,
  field: PictureField,
  decode: (file: Uint8Array, info: PictureInfo) => Promise<Uint8Array>,
) => Promise<Uint8Array>;

/** One file after the other, so that a job never holds the memory of two. Rejects with LehrError `invalid-input` that names the field. */
export async function readControls(
  { control = [], width, height }: Pick<TextToImageInput, 'control' | 'width' | 'height'>,
  read: ReadControl,
  work: Pick<EditWork, 'canny'>,
): Promise<ControlUses> {
  const uses: ControlUses[number][] = [];
  for (const [i, each] of control.entries()) {
    const { name, scale, start, end, preprocess } = each;
    const field: PictureField = `control/${i}/image`;
    const pixels = await read(each, field, (file, info) => fitted(file, info, field, { width, height }));
    uses.push({
      ...{ name, scale, start, end },
      pixels: preprocess === 'canny' ? (await work.canny(pixels, { width, height })).data : pixels,
      ...(preprocess !== undefined && !isPlainPreprocess(preprocess) && { preprocess }),
    });
  }
  return uses;
}

async function fitted(
  file: Uint8Array,
  { isAnimated }: PictureInfo,
  field: PictureField,
  size: PixelSize,
): Promise<Uint8Array> {
  if (isAnimated) throw refusedPicture(field, 'is animated; a control is one picture');
  return readPicture(file, size, field);
}

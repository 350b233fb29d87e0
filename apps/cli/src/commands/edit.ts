/** Creates a job that changes a picture: all of it, the part that a mask marks, or what is around it. */
import type { JobRequest, Lehr, TextToImageInput } from '@lehr/client';
import { type Call, defineCommand, numberOf, type Options, type Values } from '../command.ts';
import { controlInput } from '../control-option.ts';
import { usageError } from '../exit-codes.ts';
import { MAX_INLINE_BYTES, mediaOf } from '../media.ts';
import { PICTURE_OPTIONS, pictureInput } from '../picture-options.ts';
import { requestFields } from '../request-options.ts';
import { RESULT_OPTIONS, submitPictures, WAIT_NOTE } from '../submit-pictures.ts';

const EDIT_OPTIONS = {
  mask: {
    type: 'string',
    value: 'FILE|URL',
    help: 'What to change: the transparent part of it, or if there is none, the white one.',
  },
  blur: { type: 'string', value: 'N', help: 'Softens the edge of the mask, in pixels.' },
  fill: { type: 'string', value: 'NAME', help: 'What to begin at: original, noise or latent_noise.' },
  'only-masked': {
    type: 'string',
    value: 'N',
    help: 'Draw the part around the mask alone, with N pixels of padding.',
  },
  expand: {
    type: 'string',
    multiple: true,
    value: 'SIDE=N',
    help: 'Draw N pixels more at left, right, top or bottom. Can be repeated.',
  },
  ...PICTURE_OPTIONS,
  ...RESULT_OPTIONS,
} as const satisfies Options;

type EditCall = Call<typeof EDIT_OPTIONS>;

export const edit = defineCommand({
  name: 'edit',
  operands: 'FILE|URL PROMPT',
  count: [2, 2],
  summary: 'Change a picture: all of it, what a mask marks, or what is around it.',
  notes: [WAIT_NOTE],
  options: EDIT_OPTIONS,
  run: (call) => submitPictures(call, requestOf(call)),
});

/** Checks the arguments at once; the returned function may use the network. */
function requestOf({ values, positionals, terminal }: EditCall): (lehr: Lehr) => Promise<JobRequest> {
  const [source, prompt] = positionals;
  const input = { ...pictureInput(values), ...editInput(values), prompt };
  const { mask } = values;
  const controls = controlInput(values.control);
  const fields = requestFields(values);
  return async (lehr) => {
    // Both files are in one request.
    const most = mask === undefined ? MAX_INLINE_BYTES : MAX_INLINE_BYTES / 2;
    const image = await mediaOf(source, lehr, terminal.signal, most);
    const marked = mask === undefined ? {} : { mask: await mediaOf(mask, lehr, terminal.signal, most) };
    const guided = await controls(lehr, terminal.signal);
    return { type: 'text-to-image', input: { ...input, image, ...marked, ...guided }, ...fields };
  };
}

/** The server validates the values, so that an older client accepts those of a newer server. */
function editInput(values: Values<typeof EDIT_OPTIONS>): Partial<TextToImageInput> {
  const { blur, fill, expand } = values;
  const padding = numberOf('only-masked', values['only-masked']);
  return {
    mask_blur: numberOf('blur', blur),
    mask_fill: fill as TextToImageInput['mask_fill'],
    ...(padding !== undefined && { only_masked: { padding } }),
    ...(expand && { expand: Object.fromEntries(expand.map(sideOf)) as TextToImageInput['expand'] }),
  };
}

function sideOf(text: string): [side: string, pixels: number | undefined] {
  const [, side, pixels] = /^([a-z]+)=(.+)$/.exec(text) ?? [];
  if (side === undefined)
    throw usageError(`--expand is ${JSON.stringify(text)}, expected SIDE=N such as right=256`);
  return [side, numberOf('expand', pixels)];
}

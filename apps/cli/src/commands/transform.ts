/** Creates a job that sends a picture through a model: a larger picture, a mask, a cutout, or labels. */
import type { JobRequest, Lehr, PictureTransformInput } from '@lehr/client';
import { type Call, defineCommand, numberOf, type Options } from '../command.ts';
import { mediaOf } from '../media.ts';
import { requestFields } from '../request-options.ts';
import { RESULT_OPTIONS, submitPictures, WAIT_NOTE } from '../submit-pictures.ts';

const TRANSFORM_OPTIONS = {
  scale: { type: 'string', value: 'N', help: "How many times as wide and high. Default: the model's own." },
  cutout: { type: 'boolean', help: 'The picture with the mask as its transparency, not the mask.' },
  'top-k': { type: 'string', short: 'k', value: 'N', help: 'Labels of a model that classifies. Default: 5.' },
  format: { type: 'string', value: 'NAME', help: 'png, webp or jpeg. Default: png.' },
  ...RESULT_OPTIONS,
} as const satisfies Options;

export const transform = defineCommand({
  name: 'transform',
  operands: 'FILE|URL',
  count: [1, 1],
  summary: 'Enlarge a picture, mark or cut out what is in it, or classify it, by the model.',
  notes: [WAIT_NOTE],
  options: TRANSFORM_OPTIONS,
  run: (call) => submitPictures(call, requestOf(call)),
});

/** Checks the arguments at once; the returned function may use the network. */
function requestOf({
  values,
  positionals: [source],
  terminal,
}: Call<typeof TRANSFORM_OPTIONS>): (lehr: Lehr) => Promise<JobRequest> {
  const { cutout, format } = values;
  const input: Omit<PictureTransformInput, 'image'> = {
    scale: numberOf('scale', values.scale),
    top_k: numberOf('top-k', values['top-k']),
    output_format: format as PictureTransformInput['output_format'],
    ...(cutout && { output: 'cutout' }),
  };
  const fields = requestFields(values);
  return async (lehr) => {
    const image = await mediaOf(source, lehr, terminal.signal);
    return { type: 'picture-transform', input: { ...input, image }, ...fields };
  };
}

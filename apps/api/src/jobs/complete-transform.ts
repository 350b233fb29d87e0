/** Fills in the defaults of a request that transforms a picture, and checks it against what its model gives and takes. */
import {
  DEFAULT_LABELS,
  type FieldProblem,
  type PictureTransformInput,
  type PictureTransformRequest,
  pictureReference,
  sizeProblem,
  type TransformModelEntry,
  type TransformResult,
} from '@lehr/shared';
import { refusal } from '../base/field-problems.ts';
import type { PictureSize } from './picture-header.ts';

type Fields = Omit<PictureTransformInput, 'image'>;

/** The fields beside the picture, by what the model gives. */
const FIELDS: Readonly<Record<TransformResult, readonly (keyof Fields)[]>> = {
  picture: ['output_format', 'scale'],
  mask: ['output_format', 'output'],
  class: ['top_k'],
};
const GIVES = { picture: 'a picture', mask: 'a mask', class: 'labels' };

/** `size` is that of the picture, where it is known. Throws `invalid-input` with every field that the model refuses. */
export function completeTransform(
  request: PictureTransformRequest,
  model: TransformModelEntry,
  size: PictureSize | undefined,
): Fields {
  const fields = fieldsOf(request, model);
  const problems = [...fieldProblems(request, model), ...pictureProblems(request, model, fields, size)];
  if (problems.length > 0) throw refusal('invalid-input', problems);
  return fields;
}

function fieldsOf(request: PictureTransformRequest, { result, scale }: TransformModelEntry): Fields {
  const { output_format = 'png' } = request;
  switch (result) {
    case 'picture':
      return { output_format, scale: request.scale ?? scale };
    case 'mask':
      return { output_format, output: request.output ?? 'mask' };
    case 'class':
      return { top_k: request.top_k ?? DEFAULT_LABELS };
  }
}

function fieldProblems(
  request: PictureTransformRequest,
  { name, result }: TransformModelEntry,
): FieldProblem[] {
  const problems = (['output_format', 'scale', 'output', 'top_k'] as const)
    .filter((field) => request[field] !== undefined && !FIELDS[result].includes(field))
    .map((field) => problem(field, `is not for ${name}, which gives ${GIVES[result]}`));
  if (result === 'mask' && request.output === 'cutout' && request.output_format === 'jpeg')
    problems.push(problem('output_format', 'must be png or webp: a cutout is transparent'));
  return problems;
}

function pictureProblems(
  { image }: PictureTransformRequest,
  { limits, scale: own }: TransformModelEntry,
  { scale = 1 }: Fields,
  size: PictureSize | undefined,
): FieldProblem[] {
  if (pictureReference(image)?.field === 'latent')
    return [problem('image', 'is a latent, which is no picture yet')];
  const detail = size && sizeProblem(size, Math.max(scale, own), limits.max_pixels);
  return detail === undefined ? [] : [problem('image', detail)];
}

const problem = (field: string, detail: string): FieldProblem => ({ pointer: `/input/${field}`, detail });

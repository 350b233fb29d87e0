/** The fields of a request that draws a part of its picture again, or more around it: their defaults, and what they need. */
import {
  type DiffusionModelEntry,
  editStrength,
  FAMILY_TRAITS,
  type FieldProblem,
  pictureReference,
  type TextToImageInput,
  type TextToImageRequest,
} from '@lehr/shared';
import type { PictureSize } from './picture-header.ts';

type EditFields = Pick<
  TextToImageInput,
  'mask_invert' | 'mask_blur' | 'mask_fill' | 'only_masked' | 'expand'
>;

/** Whether a part of the picture is kept. */
export const isEdit = ({ mask, expand }: TextToImageRequest): boolean =>
  mask !== undefined || expand !== undefined;

/** Stored only of an edit. Where the mask is, is found afterwards. */
export function editFields(request: TextToImageRequest): EditFields {
  if (!isEdit(request)) return {};
  const { mask_invert, mask_blur = 0, mask_fill = 'original', only_masked, expand } = request;
  return {
    ...(mask_invert && { mask_invert }),
    mask_blur,
    mask_fill,
    ...(only_masked && { only_masked }),
    ...(expand && { expand }),
  };
}

/** Undefined for a picture that begins at noise, or in the middle of the schedule. */
export function strengthOf(request: TextToImageRequest, { family }: DiffusionModelEntry): number | undefined {
  const { image, strength, mask_fill = 'original', denoising_start: start = 0 } = request;
  if (image === undefined || start > 0) return undefined;
  const traits = FAMILY_TRAITS[family];
  return strength ?? (isEdit(request) && !traits.needsMask ? editStrength(mask_fill) : traits.strength);
}

/** Whether the size of its picture is that of the job, where the model allows it. */
export const takesPictureSize = (request: TextToImageRequest): boolean =>
  isEdit(request) &&
  [request.only_masked, request.width, request.height].every((field) => field === undefined);

/** The size of such a job: that of its picture and what is drawn around it. */
export function editedSize(
  request: TextToImageRequest,
  picture: PictureSize | undefined,
): PictureSize | undefined {
  if (!picture || !takesPictureSize(request)) return undefined;
  const { left = 0, right = 0, top = 0, bottom = 0 } = request.expand ?? {};
  return { width: picture.width + left + right, height: picture.height + top + bottom };
}

const problem = (field: string, detail: string): FieldProblem => ({ pointer: `/input/${field}`, detail });

/** Each field and what it needs beside it. */
export function editProblems(
  request: TextToImageRequest,
  { name, family }: DiffusionModelEntry,
): FieldProblem[] {
  const { image, mask, expand } = request;
  const needs = (field: keyof TextToImageRequest, is: boolean, what: string): FieldProblem[] =>
    request[field] === undefined || is ? [] : [problem(field, `needs ${what}`)];
  const problems = [
    ...needs('mask', image !== undefined, 'an image'),
    ...needs('expand', image !== undefined, 'an image'),
    ...needs('mask_invert', mask !== undefined, 'a mask'),
    ...needs('mask_blur', isEdit(request), 'a mask, or expand'),
    ...needs('mask_fill', isEdit(request), 'a mask, or expand'),
    ...needs('only_masked', mask !== undefined, 'a mask'),
  ];
  if (image !== undefined && FAMILY_TRAITS[family].needsMask && !isEdit(request)) {
    problems.push(problem('mask', `is missing: ${name} is an inpainting model; it needs a mask, or expand`));
  }
  problems.push(...latentProblems(request, { name, family }));
  if (request.mask_fill === 'latent_noise' && (request.denoising_start ?? 0) > 0)
    problems.push(problem('mask_fill', 'is latent_noise; beside denoising_start no noise is added'));
  if (!expand) return problems;
  if (mask !== undefined) problems.push(problem('expand', 'cannot be used with a mask'));
  if (Object.values(expand).every((pixels) => pixels === 0))
    problems.push(problem('expand', 'must be above 0 on a side'));
  return problems;
}

/** A latent has no pixels: a part of it is kept, but not cut out, put into a larger picture, or made larger itself. */
function latentProblems(
  request: TextToImageRequest,
  { name, family }: Pick<DiffusionModelEntry, 'name' | 'family'>,
): FieldProblem[] {
  const { image, mask_fill } = request;
  if (!isEdit(request) || image === undefined || pictureReference(image)?.field !== 'latent') return [];
  const parts = (['only_masked', 'expand', 'hires'] as const).filter((field) => request[field] !== undefined);
  const problems = parts.map((field) => problem(field, 'needs pixels, and image is a latent'));
  if (mask_fill === 'noise') problems.push(problem('mask_fill', 'is noise in pixels, and image is a latent'));
  if (FAMILY_TRAITS[family].needsMask)
    problems.push(problem('image', `is a latent: ${name} is an inpainting model, which reads a picture`));
  return problems;
}

/** Calls that draw: the native request of a call. */
import type { JobRequest } from '@lehr/shared';
import { atTheTop, type Names, nativeRequest } from '../../jobs/requests/field-names.ts';
import { type Body, checked, PictureParametersSchema } from './fields.ts';

const RENAMED: Readonly<Record<string, string>> = {
  '/prompt': '/inputs',
  '/steps': '/parameters/num_inference_steps',
  '/guidance': '/parameters/guidance_scale',
  '/sampler': '/parameters/scheduler',
};
const TOP = atTheTop();
export const PICTURE_NAMES: Names = (pointer) => {
  const field = TOP(pointer);
  return RENAMED[field] ?? `/parameters${field}`;
};

/** Throws `invalid-input`. */
export function pictureRequest(model: string | undefined, body: Body): JobRequest {
  const parameters = checked(PictureParametersSchema, body.parameters, 'parameters');
  const { num_inference_steps, guidance_scale, scheduler, ...same } = withoutNulls(parameters);
  const input = {
    ...same,
    prompt: body.inputs,
    steps: num_inference_steps,
    guidance: guidance_scale,
    sampler: scheduler,
  };
  return nativeRequest({ type: 'text-to-image', model, input } as never, PICTURE_NAMES);
}

const withoutNulls = <Fields extends object>(
  fields: Fields,
): { [Name in keyof Fields]: NonNullable<Fields[Name]> | undefined } =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null)) as never;

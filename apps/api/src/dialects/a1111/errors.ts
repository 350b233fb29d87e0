/**
 * Errors as clients of the Stable Diffusion web UI read them: `{error, detail, body, errors}`. Of an invalid field, `detail` is the list
 * that FastAPI makes; else it is a text.
 */
import { ERROR_CODES, type ErrorCode, type LehrError } from '@lehr/shared';
import { z } from 'zod';
import { atTheTop, type Names } from '../../jobs/requests/field-names.ts';
import { JobEndedError } from '../../jobs/requests/hold.ts';

const FieldErrorSchema = z.object({ loc: z.array(z.string()), msg: z.string(), type: z.string() });

export const WebUiErrorSchema = z
  .object({
    error: z.string().meta({ description: 'The code of the error.' }),
    detail: z.union([z.string(), z.array(FieldErrorSchema)]),
    body: z.string(),
    errors: z.string().meta({ description: 'The error in words.' }),
    job_id: z.string().optional().meta({ description: 'The job of the call, if one was made.' }),
  })
  .meta({ id: 'WebUiError' });

const FIELDS = atTheTop({
  '/model': '/override_settings/sd_model_checkpoint',
  '/input/guidance': '/cfg_scale',
  '/input/sampler': '/sampler_name',
  '/input/n': '/batch_size',
  '/input/clip_skip': '/override_settings/CLIP_stop_at_last_layers',
  '/input/image': '/init_images/0',
  '/input/strength': '/denoising_strength',
  '/input/mask_invert': '/inpainting_mask_invert',
  '/input/mask_fill': '/inpainting_fill',
  '/input/only_masked': '/inpaint_full_res',
  '/input/hires/scale': '/hr_scale',
  '/input/hires/steps': '/hr_second_pass_steps',
  '/input/hires/strength': '/denoising_strength',
  '/input/hires/upscaler': '/hr_upscaler',
  '/input/hires': '/enable_hr',
});
const CONTROL_FIELDS: Readonly<Record<string, string>> = {
  name: 'model',
  scale: 'weight',
  start: 'guidance_start',
  end: 'guidance_end',
  preprocess: 'module',
};
const UNITS = '/alwayson_scripts/controlnet/args';

/** Of a field of `control`; `placeOf` has the pointers of the units. */
export function controlName(
  pointer: string,
  placeOf: (unit: number) => string | undefined = (unit) => `${UNITS}/${unit}`,
): string | undefined {
  const [all, unit, field] = /^\/input\/control(?:\/(\d+)(?:\/(\w+))?)?$/.exec(pointer) ?? [];
  if (all === undefined) return undefined;
  const place = unit === undefined ? undefined : placeOf(Number(unit));
  if (place === undefined || field === undefined) return place ?? UNITS;
  return `${place}/${CONTROL_FIELDS[field] ?? field}`;
}

/** Also of the fields that only a worker can check. */
export const NAMES: Names = (pointer) => controlName(pointer) ?? FIELDS(pointer);

/** The same of extra-single-image. */
export const UPSCALE_NAMES: Names = atTheTop({
  '/model': '/upscaler_1',
  '/input/scale': '/upscaling_resize',
});

/** `path`: of the request. */
export function webUiRefusal(error: LehrError, path: string): z.output<typeof WebUiErrorSchema> {
  const names = path.endsWith('/extra-single-image') ? UPSCALE_NAMES : NAMES;
  const { code, message, problems } = error;
  const fields = problems.map(({ pointer, detail }) => ({
    loc: [pointer.startsWith('?') ? 'query' : 'body', ...names(pointer).slice(1).split('/')],
    msg: detail,
    type: 'value_error',
  }));
  return {
    error: code,
    detail: code === 'invalid-input' && fields.length > 0 ? fields : message,
    body: '',
    errors: message,
    ...(error instanceof JobEndedError && { job_id: error.job }),
  };
}

const ALWAYS = ['unauthenticated', 'forbidden', 'internal', 'unavailable'] as const;
const OF_BODIES = [
  'invalid-request',
  'too-slow',
  'too-large',
  'unsupported-media',
  'invalid-input',
  'overloaded',
] as const;
const OF_CALLS = [
  ...OF_BODIES,
  'not-found',
  'conflict',
  'gone',
  'idempotency-mismatch',
  'rate-limited',
  'hold-expired',
] as const;

interface ErrorResponse {
  description: string;
  content: Record<string, { schema: typeof WebUiErrorSchema }>;
}

/** `problemsWithKey` in this form; its type is `never` for the same reason. */
function responsesOf(codes: readonly ErrorCode[]): Record<never, ErrorResponse> {
  const responses: Record<number, ErrorResponse> = {};
  for (const code of codes) {
    const { status } = ERROR_CODES[code];
    const known = responses[status]?.description;
    responses[status] = {
      description: known ? `${known}, \`${code}\`` : `\`${code}\``,
      content: { 'application/json': { schema: WebUiErrorSchema } },
    };
  }
  return responses;
}

/** Of a route that takes no body, of one that takes JSON, and of one that makes a job. */
export const plainErrors = () => responsesOf(['invalid-request', 'too-large', ...ALWAYS]);
export const bodyErrors = (...more: readonly ErrorCode[]) => responsesOf([...OF_BODIES, ...more, ...ALWAYS]);
export const callErrors = () => responsesOf([...OF_CALLS, ...ALWAYS]);

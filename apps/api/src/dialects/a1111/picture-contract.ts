/** Picture requests and answers of the web UI's clients. A field that Lehr does not list has no effect. */
import { z } from '@hono/zod-openapi';
import {
  ClipSkipSchema,
  MAX_MEDIA_REFERENCE,
  MAX_PROMPT_LENGTH,
  MAX_SAMPLES,
  MAX_SEED,
  TextToImageRequestSchema,
} from '@lehr/shared';
import { isDataUri } from '../../http/bodies/inline-audio.ts';
import { nullsAsAbsent } from '../without-nulls.ts';

const { steps, guidance, width, height, negative_prompt } = TextToImageRequestSchema.shape;

/** As the web UI takes it: in base64, bare or as a `data:` URI. */
const picture = z.string().max(MAX_MEDIA_REFERENCE);
/** What the native `image` takes: a URL as it is, and base64 as a `data:` URI. The worker detects the format from the bytes. */
export const nativeImage = (text: string): string =>
  isDataUri(text) || /^https?:/i.test(text) ? text : `data:image/png;base64,${text}`;

export const NOT_SERVED = 'is not served by Lehr; leave it out';

const flag = z.boolean().optional();
const number = z.number().optional();

/** Of these fields only the value that changes nothing is taken, because another one asks for another picture. */
const withoutEffect = {
  hr_resize_x: number.meta({ description: 'Only 0.' }),
  hr_resize_y: number.meta({ description: 'Only 0.' }),
  hr_checkpoint_name: z.string().optional().meta({ description: 'Only empty, or `Use same checkpoint`.' }),
  restore_faces: flag.meta({ description: 'Only false.' }),
  tiling: flag.meta({ description: 'Only false.' }),
  subseed_strength: number.meta({ description: 'Only 0.' }),
  s_churn: number.meta({ description: 'Only 0.' }),
  seed_resize_from_w: number.meta({ description: 'Only 0, or less.' }),
  seed_resize_from_h: number.meta({ description: 'Only 0, or less.' }),
  refiner_checkpoint: z.string().optional().meta({ description: 'Only empty, or `None`.' }),
  script_name: z.string().optional().meta({ description: 'Only empty: Lehr has no scripts.' }),
  alwayson_scripts: z
    .record(z.string(), z.unknown())
    .optional()
    .meta({
      description:
        '`controlnet` has the units of that extension in `args`, each with `model`, `image`, `module`, `weight`, `guidance_start` and `guidance_end`. ' +
        'Other scripts only without arguments, or with `[false]`.',
    }),
};
export type WithoutEffect = { readonly [Name in keyof typeof withoutEffect]?: unknown };

const clipSkip = ClipSkipSchema.meta({ description: '1: the layer that the model was trained with.' });

const fields = {
  prompt: z.string().max(MAX_PROMPT_LENGTH).optional(),
  negative_prompt,
  seed: z.int().min(-1).max(MAX_SEED).optional().meta({ description: '-1, or absent: chosen at random.' }),
  steps: steps.meta({ description: 'Absent, as of the next fields: the default of the model.' }),
  cfg_scale: guidance,
  width,
  height,
  sampler_name: z.string().max(100).optional().meta({ example: 'Euler a' }),
  sampler_index: z.string().max(100).optional().meta({ description: 'The same, in older clients.' }),
  scheduler: z.string().max(100).optional().meta({ description: 'Absent: `Automatic`.', example: 'Karras' }),
  batch_size: z.int().min(1).max(MAX_SAMPLES).optional(),
  n_iter: z.int().min(1).max(MAX_SAMPLES).optional().meta({
    description: 'Times `batch_size`: how many pictures. They are drawn together.',
  }),
  override_settings: z
    .looseObject({
      sd_model_checkpoint: z.string().max(200).nullish().meta({
        description:
          'A `title` of the list of models. Absent: the one that the key has chosen in the options, or the default model.',
        example: 'demo-diffusion',
      }),
      CLIP_stop_at_last_layers: clipSkip.nullish(),
    })
    .optional(),
  clip_skip: clipSkip.optional().meta({ description: 'The same, in clients of forks.' }),
  send_images: flag.meta({ description: 'False: the answer has no pictures.' }),
  ...withoutEffect,
};

const denoising_strength = z.number().min(0).max(1).optional();

const hires = {
  enable_hr: flag.meta({ description: 'A second pass at a larger size, with the next fields.' }),
  hr_scale: z.number().min(1).max(4).optional().meta({ description: 'Default: 2.' }),
  hr_second_pass_steps: z.int().min(0).max(1000).optional().meta({ description: '0, or absent: `steps`.' }),
  hr_upscaler: z.string().max(200).optional().meta({
    description: '`Latent` (default), `Lanczos`, or a model that the drawing one lists as its upscaler.',
  }),
  denoising_strength: denoising_strength.meta({ description: 'With `enable_hr`: of the second pass.' }),
};

export const DrawSchema = nullsAsAbsent({ ...fields, ...hires }).meta({ id: 'WebUiDraw' });

export const EditSchema = nullsAsAbsent({
  ...fields,
  init_images: z.array(picture).max(1, 'must have one picture; Lehr begins at one').optional().meta({
    description: 'The picture to begin at: in base64, bare or as a `data:` URI, or an http(s) URL.',
  }),
  denoising_strength: denoising_strength.meta({
    description: 'How far the result may differ from the picture. Default: 0.75.',
  }),
  resize_mode: z
    .int()
    .max(0, 'must be 0: Lehr stretches the picture to the width and height')
    .optional()
    .meta({ description: 'Only 0, which stretches the picture.' }),
  mask: picture.optional().meta({
    description:
      'In base64, of the size of the picture: what is white is drawn again, or when some of it is transparent, that.',
  }),
  mask_blur: z.int().min(0).max(64).optional().meta({ description: 'Pixels. Default: 4.' }),
  inpainting_fill: z
    .int()
    .min(0)
    .max(2, 'must be at most 2: Lehr does not begin at an empty latent')
    .optional()
    .meta({ description: '2: begins at noise. 1, or 0 and absent: at the picture.' }),
  inpaint_full_res: z
    .union([z.boolean(), z.int().min(0).max(1)])
    .optional()
    .meta({
      description: 'Draws only the part around the mask, at the size of the job. Default: true.',
    }),
  inpaint_full_res_padding: z.int().min(0).max(512).optional().meta({ description: 'Pixels. Default: 0.' }),
  inpainting_mask_invert: z.int().min(0).max(1).optional().meta({
    description: '1: the rest is drawn again, and what the mask marks is kept.',
  }),
}).meta({ id: 'WebUiEdit' });
export type Edit = z.output<typeof EditSchema> & {
  readonly [Name in keyof typeof hires]?: z.output<(typeof hires)[Name]>;
};

export const PicturesSchema = z
  .object({
    images: z
      .array(z.string())
      .meta({ description: 'In base64, each with the text `parameters` in its PNG.' }),
    parameters: z.record(z.string(), z.unknown()).meta({ description: 'The request.' }),
    info: z.string().meta({ description: 'JSON: seeds, prompts, `infotexts` and sizes of the pictures.' }),
  })
  .meta({ id: 'WebUiPictures' });

/** Picture requests and answers of the web UI's clients. A field that Lehr does not list has no effect. */
import { z } from '@hono/zod-openapi';
import {
  MAX_MEDIA_REFERENCE,
  MAX_PROMPT_LENGTH,
  MAX_SAMPLES,
  MAX_SEED,
  TextToImageRequestSchema,
} from '@lehr/shared';
import { nullsAsAbsent } from '../without-nulls.ts';

const { steps, guidance, width, height, negative_prompt } = TextToImageRequestSchema.shape;

/** As the web UI takes it: in base64, bare or as a `data:` URI. */
const picture = z.string().max(MAX_MEDIA_REFERENCE);
const flag = z.boolean().optional();
const number = z.number().optional();

/** Of these fields only the value that changes nothing is taken, because another one asks for another picture. */
const withoutEffect = {
  enable_hr: flag.meta({ description: 'Only false.' }),
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
    .meta({ description: 'Only scripts without arguments, or with `[false]`.' }),
};
export type WithoutEffect = { readonly [Name in keyof typeof withoutEffect]?: unknown };

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
        description: 'A `title` of the list of models. Absent: the default model.',
        example: 'demo-diffusion',
      }),
    })
    .optional(),
  send_images: flag.meta({ description: 'False: the answer has no pictures.' }),
  ...withoutEffect,
};

export const DrawSchema = nullsAsAbsent(fields).meta({ id: 'WebUiDraw' });

export const EditSchema = nullsAsAbsent({
  ...fields,
  init_images: z.array(picture).max(1, 'must have one picture; Lehr begins at one').optional().meta({
    description: 'The picture to begin at: in base64, bare or as a `data:` URI, or an http(s) URL.',
  }),
  denoising_strength: z.number().min(0).max(1).optional().meta({
    description: 'How far the result may differ from the picture. Default: 0.75.',
  }),
  resize_mode: z
    .int()
    .max(0, 'must be 0: Lehr stretches the picture to the width and height')
    .optional()
    .meta({ description: 'Only 0, which stretches the picture.' }),
  mask: picture.optional().meta({ description: 'Not served.' }),
  include_init_images: flag.meta({ description: 'True: the answer repeats `init_images`.' }),
}).meta({ id: 'WebUiEdit' });
export type Edit = z.output<typeof EditSchema>;

export const PicturesSchema = z
  .object({
    images: z
      .array(z.string())
      .meta({ description: 'In base64, each with the text `parameters` in its PNG.' }),
    parameters: z.record(z.string(), z.unknown()).meta({ description: 'The request.' }),
    info: z.string().meta({ description: 'JSON: seeds, prompts, `infotexts` and sizes of the pictures.' }),
  })
  .meta({ id: 'WebUiPictures' });

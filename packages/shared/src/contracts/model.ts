/** An offered model. */
import { z } from 'zod';
import { DIFFUSION_FAMILIES } from './diffusion-family.ts';
import { TRANSFORM_RESULTS } from './picture-transform.ts';
import { TEXT_JOB_TYPES } from './text.ts';
import { PromptSyntaxSchema, SamplerNameSchema } from './text-to-image.ts';

const model = {
  id: z.string(),
  aliases: z.array(z.string()).meta({ description: 'Other names by which requests may call it.' }),
  object: z.literal('model'),
  created: z.int().meta({ description: 'Unix seconds: when the list of models last changed.' }),
  owned_by: z.literal('lehr'),
  description: z.string().optional().meta({ description: 'What it is for, in a sentence for people.' }),
  default: z.boolean().meta({ description: 'Runs the jobs of its task that name no model.' }),
  versions: z.array(
    z.object({
      version: z.string(),
      weight: z.number().meta({ description: 'Share of the jobs that name no version.' }),
    }),
  ),
};

const PictureModelSchema = z.object({
  ...model,
  task: z.literal('text-to-image'),
  family: z.enum(DIFFUSION_FAMILIES).meta({
    description:
      'Stable Diffusion 1.x and 2.x, XL, and their Turbo and LCM forms, which draw in a few steps.',
  }),
  defaults: z.object({
    width: z.int(),
    height: z.int(),
    steps: z.int(),
    guidance: z.number(),
    sampler: SamplerNameSchema,
    prompt_syntax: PromptSyntaxSchema,
    clip_skip: z.int(),
  }),
  limits: z.object({
    min_size: z.int(),
    max_size: z.int(),
    size_step: z.int().meta({ description: 'Width and height are multiples of this.' }),
    max_pixels: z.int(),
    max_steps: z.int(),
    max_samples: z.int(),
    max_work: z.number().meta({ description: 'Width x height x pictures x steps of one job.' }),
    max_prompt_tokens: z
      .int()
      .optional()
      .meta({
        description:
          'Tokens that the model reads of a plain prompt, the start and the end of the text included; the rest of a longer one is left out. ' +
          'Absent while no worker has the model open.',
      }),
  }),
  samplers: z.array(SamplerNameSchema),
  adapters: z
    .array(
      z.object({
        name: z.string(),
        trigger: z.array(z.string()).meta({ description: 'Words that the prompt needs for it to act.' }),
        scale: z.number().meta({ description: 'How strongly it acts when a request does not say.' }),
        description: z.string().optional().meta({ description: 'What it does.' }),
      }),
    )
    .meta({ description: 'Adapters (LoRA) that requests may use.' }),
  controls: z
    .array(
      z.object({
        name: z.string(),
        preprocess: z.string().meta({
          description: 'What makes its control picture when a request does not say: none, canny or a model.',
        }),
        description: z.string().optional().meta({ description: 'What it does.' }),
      }),
    )
    .meta({ description: 'ControlNets that requests may use.' }),
});

const SpeechModelSchema = z.object({
  ...model,
  task: z.literal('speech-to-text'),
  limits: z.object({ max_audio_s: z.number().meta({ description: 'Seconds of audio in one file.' }) }),
});

const TextModelSchema = z.object({
  ...model,
  task: z.literal('text'),
  tasks: z.array(z.enum(TEXT_JOB_TYPES)).meta({ description: 'The types of jobs that the model runs.' }),
  limits: z.object({ max_texts: z.int().meta({ description: 'Texts of one job.' }) }),
});

const TransformModelSchema = z.object({
  ...model,
  task: z.literal('picture-transform'),
  result: z.enum(TRANSFORM_RESULTS).meta({
    description: 'What it gives: a picture, a mask (a grey value per pixel), or labels with scores.',
  }),
  scale: z.number().meta({ description: 'How many times as wide and high a picture becomes.' }),
  limits: z.object({ max_pixels: z.int().meta({ description: 'Of the picture that is sent.' }) }),
});

export const ModelSchema = z
  .discriminatedUnion('task', [PictureModelSchema, SpeechModelSchema, TextModelSchema, TransformModelSchema])
  .meta({ id: 'Model' });
export type Model = z.output<typeof ModelSchema>;

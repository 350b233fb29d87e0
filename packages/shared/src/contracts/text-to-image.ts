/** The request of a text-to-image job, and the input that the worker gets: the same fields with all defaults filled in. */
import { z } from 'zod';
import { AdaptersRequestSchema, AdaptersSchema } from './adapters.ts';
import { ControlRequestSchema, ControlsSchema, MAX_CONTROLS } from './control.ts';
import { HiresRequestSchema, HiresSchema } from './hires.ts';
import { MAX_MEDIA_REFERENCE, MediaSourceSchema } from './media-source.ts';
import { editInputFields, editRequestFields } from './picture-edit.ts';
import { PROMPT_SYNTAXES } from './prompts/weighted-prompt.ts';
import { SAFETY_MODES } from './safety.ts';

/** All samplers of Lehr. The registry says which of them a model offers. */
export const SAMPLER_NAMES = [
  'ddim',
  'euler',
  'euler_a',
  'dpmpp_2m',
  'dpmpp_2m_karras',
  'dpmpp_2m_sde_karras',
  'lcm',
  'pndm',
  'unipc',
] as const;
export type SamplerName = (typeof SAMPLER_NAMES)[number];
export const SamplerNameSchema = z.enum(SAMPLER_NAMES);

export const IMAGE_FORMATS = ['png', 'webp', 'jpeg'] as const;
export type ImageFormat = (typeof IMAGE_FORMATS)[number];

export const MAX_PROMPT_LENGTH = 32_000;
export const MAX_SAMPLES = 8;
/** The noise generator takes seeds modulo 2^32, like torch's CPU generator. */
export const MAX_SEED = 2 ** 32 - 1;

const prompt = z
  .string()
  .max(MAX_PROMPT_LENGTH)
  .refine((text) => !text.includes('\0'), 'must not contain a null byte');

/** Layers of the smallest text encoder of all families. */
const MAX_CLIP_SKIP = 12;
export const PromptSyntaxSchema = z.enum(PROMPT_SYNTAXES);
export const ClipSkipSchema = z.int().min(1).max(MAX_CLIP_SKIP);

const side = z.int().min(1).max(8192);
const offset = z.int().min(0).max(8192);

/** The conditions of SDXL beside the prompt; the fields and their order are those of diffusers. */
const sizeFields = {
  original_size: z
    .tuple([side, side])
    .optional()
    .meta({
      description:
        'SDXL only: condition of the model: height and width of the picture before scaling. Small values make it blurred. Default: its size.',
      example: [1024, 1024],
    }),
  crops_coords_top_left: z
    .tuple([offset, offset])
    .optional()
    .meta({
      description:
        'SDXL only: condition of the model: top and left of the crop. Default: [0, 0], a centred object.',
      example: [0, 0],
    }),
  target_size: z
    .tuple([side, side])
    .optional()
    .meta({
      description: 'SDXL only: condition of the model: height and width of the picture. Default: its size.',
      example: [1024, 1024],
    }),
};
export const SIZE_FIELDS = ['original_size', 'crops_coords_top_left', 'target_size'] as const;

/** Fields as posted. Bounds that depend on the model are checked against the registry afterwards. */
export const TextToImageRequestSchema = z
  .strictObject({
    prompt: prompt
      .min(1)
      .meta({ description: 'What to draw.', example: 'a red circle on a blue background' }),
    negative_prompt: prompt
      .optional()
      .meta({ description: 'What the picture should not show; needs guidance above 1.' }),
    prompt_syntax: PromptSyntaxSchema.optional().meta({
      description:
        'How both prompts are read. `weighted`: `(word:1.3)`, `(word)`, `[word]`, `BREAK` and `<lora:NAME:0.8>` as in the web UI of AUTOMATIC1111, and prompts of ' +
        'more than 75 tokens to their end. `plain`: every character is text, and 75 tokens are read. Default: that of the model.',
    }),
    clip_skip: ClipSkipSchema.optional().meta({
      description:
        "The layer of the text encoder that the picture is drawn from, counted from the last one, which is 1. Default: the model's; SDXL was trained with 2.",
    }),
    width: z
      .int()
      .min(8)
      .max(8192)
      .optional()
      .meta({
        description:
          "Pixels, a multiple of the model's size step. Default: that of the model; with `mask` or `expand`, that of a picture which is in the " +
          'request or uploaded. A picture behind a URL is read too late for that.',
      }),
    height: z.int().min(8).max(8192).optional().meta({ description: 'As `width`.' }),
    steps: z.int().min(1).max(1000).optional().meta({ description: 'Denoising steps.' }),
    guidance: z.number().min(0).max(50).optional().meta({
      description:
        'Classifier-free guidance scale; at 1 or below the negative prompt is not run. An LCM takes it without a negative prompt.',
    }),
    seed: z.int().min(0).max(MAX_SEED).optional().meta({
      description: 'Seed of the first picture; picture i uses seed + i. Chosen at random when absent.',
    }),
    sampler: SamplerNameSchema.optional(),
    ...sizeFields,
    image: z
      .string()
      .min(1)
      .max(MAX_MEDIA_REFERENCE)
      .optional()
      .meta({
        description:
          'The picture to begin at, stretched to the width and height of the job: PNG, JPEG or WebP as an http(s) URL, a `data:` URI, or the ' +
          'id or link of an uploaded file. In a workflow also `{{node.image}}`, the first picture of that node, or ' +
          '`{{node.latent}}`, its latent. A picture needs a model with a VAE encoder.',
        example: 'https://app.example/sketch.png',
      }),
    strength: z.number().min(0).max(1).optional().meta({
      description:
        'With `image`: how far the result may differ from it. `steps` times `strength` steps are made, at least one; 1 keeps almost nothing.',
      example: 0.6,
    }),
    denoising_start: z
      .number()
      .min(0)
      .max(1)
      .optional()
      .meta({
        description:
          'With `image`, in place of `strength`: where in the schedule the steps begin, from 0 (noise) to 1. No noise is added, so this continues a ' +
          '`{{node.latent}}` that stopped there, as the refiner of SDXL does.',
        example: 0.8,
      }),
    denoising_end: z
      .number()
      .min(0)
      .max(1)
      .optional()
      .meta({
        description:
          'Where in the schedule the steps end; 1 for all of them. Below 1 the picture is still noisy, and its latent is a result, too: ' +
          '`latent_url`, and in a workflow `{{node.latent}}`.',
        example: 0.8,
      }),
    hires: HiresRequestSchema.optional().meta({
      description: 'A second pass at a larger size, in the same job: the picture has that size.',
    }),
    control: z.array(ControlRequestSchema).max(MAX_CONTROLS).optional().meta({
      description: 'Pictures that guide the drawing through ControlNets of the model.',
    }),
    adapters: AdaptersRequestSchema.optional(),
    ...editRequestFields,
    n: z
      .int()
      .min(1)
      .max(MAX_SAMPLES)
      .optional()
      .meta({ description: 'How many pictures, each with its own seed.' }),
    output_format: z.enum(IMAGE_FORMATS).optional(),
    embed_prompt: z
      .boolean()
      .optional()
      .meta({ description: "Also write the prompt into the file's metadata." }),
  })
  .meta({ id: 'TextToImageInput' });
export type TextToImageRequest = z.output<typeof TextToImageRequestSchema>;

/** The input with every default filled in: the record keeps it and the worker runs it. */
export const TextToImageInputSchema = z.strictObject({
  prompt: z.string(),
  negative_prompt: z.string(),
  /** Absent of plain prompts, and of the layer that the family was trained with. */
  prompt_syntax: PromptSyntaxSchema.optional(),
  clip_skip: ClipSkipSchema.optional(),
  width: z.int().positive(),
  height: z.int().positive(),
  steps: z.int().positive(),
  guidance: z.number().nonnegative(),
  seed: z.int().nonnegative(),
  sampler: SamplerNameSchema,
  n: z.int().min(1).max(MAX_SAMPLES),
  output_format: z.enum(IMAGE_FORMATS),
  embed_prompt: z.boolean(),
  ...sizeFields,
  image: MediaSourceSchema.optional(),
  strength: z.number().positive().max(1).optional(),
  denoising_start: z.number().positive().lt(1).optional(),
  denoising_end: z.number().positive().lt(1).optional(),
  hires: HiresSchema.optional(),
  /** Absent of a picture without adapters. */
  adapters: AdaptersSchema.optional(),
  /** Absent of a picture that no other one guides. */
  control: ControlsSchema.optional(),
  ...editInputFields,
  /** What is done with a picture that is found unsafe; absent where pictures are not checked. */
  safety: z.enum(SAFETY_MODES).exclude(['off']).optional(),
});
export type TextToImageInput = z.output<typeof TextToImageInputSchema>;

/**
 * Rows a sample takes in the UNet batch: with guidance, one for the prompt and one for the negative prompt. A model that was
 * distilled with guidance takes the scale as an input (`embedded`), and always one row.
 */
export const rowsPerSample = (guidance: number, kind: GuidanceKind = 'rows'): 1 | 2 =>
  kind === 'rows' && guidance > 1 ? 2 : 1;

/**
 * The steps that a picture takes. One that begins at another picture makes the last `strength` of its steps, rounded down as in
 * diffusers; a latent consistency model spreads all of them over that part of the schedule. Of a part from `denoising_start` to
 * `denoising_end` it is an estimate: the exact number depends on the timesteps, which only the engine knows.
 */
export const stepsMade = ({
  steps,
  sampler,
  strength,
  denoising_start: start,
  denoising_end: end,
}: {
  readonly steps: number;
  readonly sampler: SamplerName;
  readonly strength?: number | undefined;
  readonly denoising_start?: number | undefined;
  readonly denoising_end?: number | undefined;
}): number => {
  const whole = strength === undefined || sampler === 'lcm' ? steps : Math.trunc(steps * strength);
  if (start === undefined && end === undefined) return whole;
  return Math.max(1, Math.min(whole, Math.round(steps * ((end ?? 1) - (start ?? 0)))));
};

export type GuidanceKind = 'rows' | 'embedded';

/** The seed of picture `index` of a job, staying inside the generator's range. */
export const seedOfSample = (seed: number, index: number): number => (seed + index) % (MAX_SEED + 1);

const cutOf = (text: string) =>
  z
    .object({
      read: z.int().positive().meta({ description: 'Tokens that the model read.' }),
      tokens: z.int().positive().optional().meta({
        description:
          'Tokens of the whole text; absent of one of thousands of characters, which is not counted to its end.',
      }),
    })
    .meta({
      description: `Of pictures: the ${text} had more tokens than the model reads, and its end was left out. Both counts include the start and the end of the text. Absent when all of it was read.`,
    });

const sizeOf = (text: string) =>
  z
    .object({
      tokens: z.int().nonnegative().meta({ description: 'Without the start and the end of the text.' }),
      chunks: z.int().positive().meta({ description: 'Pieces of up to 75 tokens.' }),
    })
    .meta({
      description: `Of pictures with \`prompt_syntax: weighted\`: the length of the ${text}, all of which was read.`,
    });

/** How much of a picture's prompts the model read, as callers read it and as records keep it. */
export const PromptLengthsSchema = z
  .object({
    truncated_prompt: cutOf('prompt'),
    truncated_negative_prompt: cutOf('negative prompt'),
    prompt_size: sizeOf('prompt'),
    negative_prompt_size: sizeOf('negative prompt'),
  })
  .partial();
export type PromptLengths = z.output<typeof PromptLengthsSchema>;

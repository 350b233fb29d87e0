/** Picture requests and answers of OpenAI's clients. */
import { z } from '@hono/zod-openapi';
import { IMAGE_FORMATS, type TextToImageRequest, TextToImageRequestSchema } from '@lehr/shared';
import { nullsAsAbsent } from '../without-nulls.ts';

const MAX_IMAGES = 10;
const { prompt, negative_prompt, prompt_syntax, clip_skip, steps, guidance, seed, sampler } =
  TextToImageRequestSchema.shape;
const { adapters, control } = TextToImageRequestSchema.shape;
const { image, strength, mask, mask_blur, mask_fill, only_masked, expand } = TextToImageRequestSchema.shape;

/** Fields of every call. */
const wanted = {
  model: z.string().min(1).max(200).optional().meta({ description: 'Absent: the default image model.' }),
  n: z.int().min(1).max(MAX_IMAGES).optional(),
  size: z
    .string()
    .regex(/^(?:auto|[1-9]\d{0,4}x[1-9]\d{0,4})$/, 'must be auto or WIDTHxHEIGHT, such as 512x512')
    .optional(),
  response_format: z.enum(['url', 'b64_json']).optional().meta({
    description: 'Absent: the answer has both.',
  }),
};

/** Fields of the calls with a prompt. */
const made = {
  output_format: z.enum(IMAGE_FORMATS).optional(),
  output_compression: z.int().min(0).max(100).optional().meta({
    description: 'For jpeg and webp. Accepted, but has no effect.',
  }),
  background: z.enum(['opaque', 'auto']).optional(),
  stream: z.boolean().optional(),
  partial_images: z.int().min(0).max(3).optional().meta({
    description: 'With `stream`: the most previews of the unfinished picture that are sent.',
  }),
};

const own = {
  ...{ negative_prompt, prompt_syntax, clip_skip, steps, guidance, seed, sampler, strength },
  ...{ adapters, control },
};
const edited = { mask_blur, mask_fill, only_masked, expand };

/** Lehr's own fields in a request, by their native names. */
export const ownFields = (
  fields: EditFields,
): Pick<TextToImageRequest, keyof typeof own | keyof typeof edited> =>
  Object.fromEntries(
    Object.keys({ ...own, ...edited }).map((name) => [name, fields[name as keyof EditFields]]),
  );

export const ImageRequestSchema = nullsAsAbsent({
  prompt,
  ...wanted,
  ...made,
  ...own,
  ...edited,
  image,
  mask,
}).meta({
  id: 'OpenAiImageRequest',
});
export type ImageRequest = z.output<typeof ImageRequestSchema>;

export const EditFieldsSchema = z.object({ prompt, ...wanted, ...made, ...own, ...edited });
export type EditFields = z.output<typeof EditFieldsSchema>;

/** Without a prompt, and so without one to move away from. */
export const VariationFieldsSchema = EditFieldsSchema.pick({
  model: true,
  n: true,
  size: true,
  response_format: true,
  steps: true,
  seed: true,
  sampler: true,
  strength: true,
});

export const ImagesSchema = z
  .object({
    created: z.int().meta({ description: 'Unix seconds.' }),
    data: z.array(
      z.object({
        url: z.url().optional(),
        b64_json: z.string().optional(),
      }),
    ),
    size: z.string(),
    output_format: z.enum(IMAGE_FORMATS),
    background: z.literal('opaque'),
  })
  .meta({ id: 'OpenAiImages' });
export type Images = z.output<typeof ImagesSchema>;

const picture = {
  b64_json: z.string(),
  created_at: z.int(),
  size: z.string(),
  quality: z.literal('auto'),
  background: z.literal('opaque'),
  output_format: z.enum(IMAGE_FORMATS),
};

const usage = z.object({
  input_tokens: z.int(),
  output_tokens: z.int(),
  total_tokens: z.int(),
  input_tokens_details: z.object({ image_tokens: z.int(), text_tokens: z.int() }),
});

/** Of the two calls that stream. */
const named = <Kind extends string>(kind: Kind) =>
  z.enum([`image_generation.${kind}` as const, `image_edit.${kind}` as const]);

export const ImageEventSchema = z
  .discriminatedUnion('type', [
    z.object({ type: named('partial_image'), ...picture, partial_image_index: z.int().nonnegative() }),
    z.object({ type: named('completed'), ...picture, usage }),
  ])
  .meta({ id: 'OpenAiImageEvent' });
export type ImageEvent = z.output<typeof ImageEventSchema>;

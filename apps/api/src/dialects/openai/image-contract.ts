/** Picture requests and answers of OpenAI's clients. */
import { z } from '@hono/zod-openapi';
import { IMAGE_FORMATS, TextToImageRequestSchema } from '@lehr/shared';
import { nullsAsAbsent } from '../without-nulls.ts';

const MAX_IMAGES = 10;
const { prompt, negative_prompt, steps, guidance, seed, sampler, image, strength } =
  TextToImageRequestSchema.shape;

export const ImageRequestSchema = nullsAsAbsent({
  prompt,
  model: z.string().min(1).max(200).optional().meta({ description: 'Absent: the default image model.' }),
  n: z.int().min(1).max(MAX_IMAGES).optional(),
  size: z
    .string()
    .regex(/^(?:auto|[1-9]\d{0,4}x[1-9]\d{0,4})$/, 'must be auto or WIDTHxHEIGHT, such as 512x512')
    .optional(),
  response_format: z.enum(['url', 'b64_json']).optional().meta({
    description: 'Absent: the answer has both.',
  }),
  output_format: z.enum(IMAGE_FORMATS).optional(),
  output_compression: z.int().min(0).max(100).optional().meta({
    description: 'For jpeg and webp. Accepted, but has no effect.',
  }),
  background: z.enum(['opaque', 'auto']).optional(),
  stream: z.boolean().optional(),
  partial_images: z.int().min(0).max(3).optional().meta({
    description: 'With `stream`: the most previews of the unfinished picture that are sent.',
  }),
  negative_prompt,
  steps,
  guidance,
  seed,
  sampler,
  image,
  strength,
}).meta({ id: 'OpenAiImageRequest' });
export type ImageRequest = z.output<typeof ImageRequestSchema>;

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

export const ImageEventSchema = z
  .discriminatedUnion('type', [
    z.object({
      type: z.literal('image_generation.partial_image'),
      ...picture,
      partial_image_index: z.int().nonnegative(),
    }),
    z.object({
      type: z.literal('image_generation.completed'),
      ...picture,
      usage: z.object({
        input_tokens: z.int(),
        output_tokens: z.int(),
        total_tokens: z.int(),
        input_tokens_details: z.object({ image_tokens: z.int(), text_tokens: z.int() }),
      }),
    }),
  ])
  .meta({ id: 'OpenAiImageEvent' });
export type ImageEvent = z.output<typeof ImageEventSchema>;

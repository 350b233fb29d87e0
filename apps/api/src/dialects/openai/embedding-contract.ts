/** Embedding requests and answers of OpenAI's clients. */
import { z } from '@hono/zod-openapi';
import { MAX_TEXTS, TextEmbeddingRequestSchema } from '@lehr/shared';
import { nullsAsAbsent } from '../without-nulls.ts';

const { texts, dimensions } = TextEmbeddingRequestSchema.shape;
const item = texts.element;

export const EmbeddingRequestSchema = nullsAsAbsent({
  input: z
    .union([
      z.string(),
      z.array(z.int().nonnegative()).min(1),
      z.array(z.string()).min(1).max(MAX_TEXTS),
      z.array(z.array(z.int().nonnegative())).min(1).max(MAX_TEXTS),
    ])
    .meta({
      description:
        "A text or a list of texts; or the token ids of one or several texts, by the model's own vocabulary.",
      example: ['a red circle on a blue background'],
    }),
  model: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .meta({ description: 'Absent: the default model for embeddings.' }),
  encoding_format: z.enum(['float', 'base64']).optional().meta({
    description: '`base64`: 32-bit floats, little-endian. Default: `float`.',
  }),
  dimensions,
}).meta({ id: 'OpenAiEmbeddingRequest' });
export type EmbeddingRequest = z.output<typeof EmbeddingRequestSchema>;

/** The texts of a request: one, or a list. */
export function textsOf(input: EmbeddingRequest['input']): z.input<typeof item>[] {
  if (typeof input === 'string') return [input];
  return isTokenIds(input) ? [input] : input;
}

const isTokenIds = (input: readonly unknown[]): input is number[] => typeof input[0] === 'number';

export const EmbeddingsSchema = z
  .object({
    object: z.literal('list'),
    data: z.array(
      z.object({
        object: z.literal('embedding'),
        index: z.int().nonnegative(),
        embedding: z.union([z.array(z.number()), z.string()]),
      }),
    ),
    model: z.string(),
    usage: z.object({ prompt_tokens: z.int(), total_tokens: z.int() }),
  })
  .meta({ id: 'OpenAiEmbeddings' });
export type Embeddings = z.output<typeof EmbeddingsSchema>;

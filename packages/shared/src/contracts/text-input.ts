/** The inputs of the text tasks with every default filled in, as the record keeps them and the worker runs them. */
import { z } from 'zod';
import { AGGREGATIONS, FUNCTIONS, type TextItem, TextPairSchema } from './text.ts';

const item = z.union([z.string(), TextPairSchema, z.array(z.int().nonnegative()).min(1)]);

/** The texts themselves: the content of the object that a TextsSource names. */
export const TextItemsSchema = z.array(item).min(1);

/** Where the texts are: in the record, or, if they are many, as a JSON list in the object store. */
export const TextsSourceSchema = z.union([
  TextItemsSchema,
  z.strictObject({ kind: z.literal('object'), key: z.string(), count: z.int().positive() }),
]);
export type TextsSource =
  | readonly TextItem[]
  | { readonly kind: 'object'; readonly key: string; readonly count: number };

/** Longer JSON, of the texts or of the result, is stored as an object, and the record keeps its key. */
export const MAX_INLINE_TEXT_BYTES = 32_768;

const common = { texts: TextsSourceSchema, truncate: z.boolean() };

/** `normalize` and `dimensions` null: as the model's files say. */
export const TextEmbeddingInputSchema = z.strictObject({
  ...common,
  normalize: z.boolean().nullable(),
  dimensions: z.int().positive().nullable(),
});
export type TextEmbeddingInput = z.output<typeof TextEmbeddingInputSchema>;

/** `top_k` null: all labels; `function` null: as the model's configuration says. */
export const TextClassificationInputSchema = z.strictObject({
  ...common,
  top_k: z.int().positive().nullable(),
  function: z.enum(FUNCTIONS).nullable(),
});
export type TextClassificationInput = z.output<typeof TextClassificationInputSchema>;

export const FillMaskInputSchema = z.strictObject({ ...common, top_k: z.int().positive() });
export type FillMaskInput = z.output<typeof FillMaskInputSchema>;

export const TokenClassificationInputSchema = z.strictObject({
  ...common,
  aggregation: z.enum(AGGREGATIONS),
  ignore_labels: z.array(z.string()),
});
export type TokenClassificationInput = z.output<typeof TokenClassificationInputSchema>;

/** By the type of the job. */
export const TEXT_INPUTS = {
  'text-embedding': TextEmbeddingInputSchema,
  'text-classification': TextClassificationInputSchema,
  'fill-mask': FillMaskInputSchema,
  'token-classification': TokenClassificationInputSchema,
} as const;

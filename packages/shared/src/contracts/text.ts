/**
 * The text tasks: embedding, classification, filling masks, and classification of tokens. Their requests, and their inputs with every
 * default filled in. A model's tokenizer runs on the worker, so lengths in tokens are checked there: a text that is too long fails its
 * job with `invalid-input`, unless the request allows truncation.
 */
import { z } from 'zod';

export const TEXT_JOB_TYPES = [
  'text-embedding',
  'text-classification',
  'fill-mask',
  'token-classification',
] as const;
export type TextJobType = (typeof TEXT_JOB_TYPES)[number];
export const isTextJobType = (type: string): type is TextJobType =>
  (TEXT_JOB_TYPES as readonly string[]).includes(type);

/** Whether a job has a record; see `durability` of a request. */
export const DURABILITIES = ['stored', 'none'] as const;
export type Durability = (typeof DURABILITIES)[number];

export const MAX_TEXTS = 2048;
/** Characters of one text: 8,192 tokens of English have about half of them. */
export const MAX_TEXT_LENGTH = 65_536;
/** Token ids of one text. */
export const MAX_TOKEN_IDS = 16_384;
/** Larger than every vocabulary. */
const MAX_TOKEN_ID = 2 ** 24;
export const DEFAULT_TOP_K = 5;
export const MAX_TOP_K = 1000;
/** `top_k` times the number of texts: no job has a result of many megabytes because of two numbers. */
const MAX_WANTED = 65_536;

const isBounded = ({
  texts,
  top_k: each = 1,
}: {
  readonly texts: readonly unknown[];
  readonly top_k?: number | undefined;
}): boolean => texts.length * each <= MAX_WANTED;
const TOO_MANY_WANTED = {
  path: ['top_k'],
  message: `times the number of texts must be at most ${MAX_WANTED}`,
};

const text = z
  .string()
  .max(MAX_TEXT_LENGTH)
  .refine((value) => !value.includes('\0'), 'must not contain a null byte');

/** Two texts that the model reads together, such as a premise and a hypothesis. */
export const TextPairSchema = z.strictObject({ text, pair: text }).meta({ id: 'TextPair' });
export type TextPair = z.output<typeof TextPairSchema>;

const tokenIds = z.array(z.int().min(0).max(MAX_TOKEN_ID)).min(1).max(MAX_TOKEN_IDS).meta({
  description: "Ids of the model's own vocabulary, without the special tokens that the model adds.",
});

/** A text, a pair of texts, or the token ids of a text. */
export type TextItem = string | TextPair | readonly number[];

const list = <Item extends z.ZodType>(item: Item, description: string) =>
  z.array(item).min(1).max(MAX_TEXTS).meta({ description });

const truncate = z.boolean().optional().meta({
  description:
    'Cut texts that are longer than the model takes. Default: false, and such a text fails the job with `invalid-input`.',
});

const topK = z.int().min(1).max(MAX_TOP_K).optional();

export const FUNCTIONS = ['softmax', 'sigmoid', 'none'] as const;
export type ScoreFunction = (typeof FUNCTIONS)[number];
export const AGGREGATIONS = ['none', 'simple', 'first', 'average', 'max'] as const;
export type Aggregation = (typeof AGGREGATIONS)[number];

export const TextEmbeddingRequestSchema = z
  .strictObject({
    texts: list(z.union([text, tokenIds]), 'The texts to embed, or their token ids.').meta({
      example: ['a red circle on a blue background'],
    }),
    truncate,
    normalize: z.boolean().optional().meta({
      description: "Scale each embedding to length 1. Default: as the model's own files say.",
    }),
    dimensions: z.int().min(1).max(65_536).optional().meta({
      description:
        'Keep only the first so many numbers of each embedding; a normalised one stays normalised.',
    }),
  })
  .meta({ id: 'TextEmbeddingInput' });
export type TextEmbeddingRequest = z.output<typeof TextEmbeddingRequestSchema>;

export const TextClassificationRequestSchema = z
  .strictObject({
    texts: list(z.union([text, TextPairSchema]), 'The texts to classify, or pairs of texts.').meta({
      example: ['a red circle and a green square'],
    }),
    truncate,
    top_k: topK.meta({ description: 'How many labels of each text, best first. Default: all.' }),
    function: z.enum(FUNCTIONS).optional().meta({
      description:
        "How scores are made of the model's logits. Default: as the model's configuration says: `sigmoid` for several labels per text or a single label, else `softmax`.",
    }),
  })
  .refine(isBounded, TOO_MANY_WANTED)
  .meta({ id: 'TextClassificationInput' });
export type TextClassificationRequest = z.output<typeof TextClassificationRequestSchema>;

export const FillMaskRequestSchema = z
  .strictObject({
    texts: list(text, "Texts with at least one mask token, as the model's tokenizer writes it.").meta({
      example: ['a red [MASK] on a blue background'],
    }),
    truncate,
    top_k: topK.meta({
      description: `How many tokens for each mask, best first. Default: ${DEFAULT_TOP_K}.`,
    }),
  })
  .refine(isBounded, TOO_MANY_WANTED)
  .meta({ id: 'FillMaskInput' });
export type FillMaskRequest = z.output<typeof FillMaskRequestSchema>;

export const TokenClassificationRequestSchema = z
  .strictObject({
    texts: list(text, 'The texts whose entities are wanted.').meta({
      example: ['Ada Lovelace lived in London.'],
    }),
    truncate,
    aggregation: z.enum(AGGREGATIONS).optional().meta({
      description:
        'How tokens are merged into entities, as in transformers: `none` keeps tokens, `simple` joins neighbours of one label, `first`, `average` and `max` also give all tokens of a word one label. Default: `simple`.',
    }),
    ignore_labels: z.array(z.string().max(200)).max(100).optional().meta({
      description: 'Labels that are left out. Default: `["O"]`.',
    }),
  })
  .meta({ id: 'TokenClassificationInput' });
export type TokenClassificationRequest = z.output<typeof TokenClassificationRequestSchema>;

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

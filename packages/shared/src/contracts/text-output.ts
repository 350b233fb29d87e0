/** The results of the text tasks, as callers read them and as records keep them. */
import { z } from 'zod';

const score = z.number();

export const LabelScoreSchema = z.object({ label: z.string(), score }).meta({ id: 'LabelScore' });
export type LabelScore = z.output<typeof LabelScoreSchema>;

/** One token for one mask. */
export const FillSchema = z
  .object({
    score,
    token: z.int().nonnegative().meta({ description: 'Its id in the vocabulary.' }),
    token_str: z.string(),
    sequence: z.string().meta({ description: 'The text with this token in the place of the mask.' }),
  })
  .meta({ id: 'Fill' });
export type Fill = z.output<typeof FillSchema>;

/** `start` and `end` count Unicode code points of the text; `end` is exclusive. */
export const EntitySchema = z
  .object({
    label: z.string(),
    score,
    word: z.string(),
    start: z.int().nonnegative().meta({ description: 'In Unicode code points of the text.' }),
    end: z.int().nonnegative().meta({ description: 'Exclusive.' }),
  })
  .meta({ id: 'Entity' });
export type Entity = z.output<typeof EntitySchema>;

const perText = 'One list per text, in the order of the request';
const perTextOrPicture = `${perText}; of a picture one list`;

/** All tasks but embeddings have the same results on the wire and in the record. */
const lists = {
  labels: z
    .array(z.array(LabelScoreSchema))
    .meta({ description: `Text classification, and classes of a picture. ${perTextOrPicture}, best first.` }),
  fills: z
    .array(z.array(z.array(FillSchema)))
    .meta({ description: `Fill-mask. ${perText}; in it one list per mask, best first.` }),
  entities: z
    .array(z.array(EntitySchema))
    .meta({ description: `Token classification. ${perText}, in its order.` }),
};

/** What every text job counts. */
const counts = {
  tokens: z.int().nonnegative().meta({
    description: 'Tokens that the model read, special tokens included and padding not.',
  }),
  truncated: z.array(z.int().nonnegative()).optional().meta({
    description: 'Indexes of the texts that were cut; absent when there are none.',
  }),
};

/** As the API shows them; each task has its own field. */
export const TextOutputSchema = z
  .object({
    embeddings: z.array(z.array(z.number())).meta({ description: 'Text embedding. One per text.' }),
    dimensions: z.int().positive().meta({ description: 'Of each embedding.' }),
    ...lists,
    ...counts,
    result_url: z.string().meta({
      description:
        'In the place of a result of more than 384 kB: a signed link to its JSON, where `embeddings` is base64 of 32-bit floats, little-endian, one text after the other.',
    }),
    result_expires_at: z.iso.datetime().meta({ description: 'When `result_url` expires.' }),
  })
  .partial();
export type TextOutput = z.output<typeof TextOutputSchema>;

/** Larger stored results are a link in a job: parsing and writing one would hold up the API. About 73,700 numbers of embeddings. */
export const MAX_SHOWN_RESULT_BYTES = 384 * 1024;

/** Embeddings are kept as base64 of 32-bit floats, little-endian, one text after the other. */
export const StoredTextResultSchema = z
  .object({ embeddings: z.string(), dimensions: z.int().positive(), ...lists })
  .partial();
export type StoredTextResult = z.output<typeof StoredTextResultSchema>;

/** A large result is stored as an object (`key`) with the JSON of a StoredTextResult. */
export const StoredTextOutputSchema = z.object({
  ...counts,
  result: StoredTextResultSchema.optional(),
  key: z.string().optional(),
});
export type StoredTextOutput = z.output<typeof StoredTextOutputSchema>;

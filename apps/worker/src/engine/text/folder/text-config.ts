/** The JSON files of a text model's folder, for what the graph does not say itself. */
import { join } from 'node:path';
import { z } from 'zod';
import { readConfigFile, readOptionalConfig } from '../../folder/config-file.ts';

const size = z.int().positive();

const ModelSchema = z.looseObject({
  model_type: z.string().default(''),
  architectures: z.array(z.string()).nullish(),
  id2label: z.record(z.string(), z.string()).nullish(),
  problem_type: z.string().nullish(),
  type_vocab_size: z.int().nonnegative().nullish(),
  max_position_embeddings: size.nullish(),
  n_positions: size.nullish(),
  pad_token_id: z.int().nullish(),
  vocab_size: size.nullish(),
});
export type TextModelConfig = z.output<typeof ModelSchema>;

/** A token is written as its text, or as an object that holds the text. */
const TokenSchema = z.union([
  z.string(),
  z.object({ content: z.string() }).transform(({ content }) => content),
]);

const SpecialTokensSchema = z.looseObject({
  mask_token: TokenSchema.nullish(),
  pad_token: TokenSchema.nullish(),
  unk_token: TokenSchema.nullish(),
});

const TokenizerConfigSchema = SpecialTokensSchema.extend({
  model_max_length: z.number().positive().nullish(),
  truncation_side: z.enum(['left', 'right']).nullish(),
});

const SentenceSchema = z.looseObject({
  max_seq_length: size.nullish(),
  do_lower_case: z.boolean().nullish(),
});

interface TokenizerFacts {
  readonly mask: string | undefined;
  readonly pad: string | undefined;
  readonly unknown: string | undefined;
  readonly truncate: 'end' | 'start';
  readonly maxTokens: number;
  /** Ids from there on have no row in the model's table of tokens; undefined when the config does not say. */
  readonly vocabularySize: number | undefined;
}

export interface TextConfig {
  readonly model: TextModelConfig;
  readonly tokenizer: TokenizerFacts;
  /** Whether the file of sentence-transformers asks for it. */
  readonly lowerCases: boolean;
  /** The position of the first token, for graphs that take positions. */
  readonly firstPosition: number;
}

/** RoBERTa and its kin count positions from the padding id on, so that their table has more rows than a text has tokens. */
const POSITIONS_AFTER_PADDING = new Set([
  'roberta',
  'xlm-roberta',
  'xlm-roberta-xl',
  'camembert',
  'longformer',
  'mpnet',
  'data2vec-text',
  'ibert',
  'roberta-prelayernorm',
  'esm',
]);
/** For a folder that names no limit; most encoders have this one. */
const USUAL_TOKENS = 512;
/** transformers writes 10^30 for a tokenizer without a limit. */
const NO_LIMIT = 1e6;

/**
 * Reads `config.json`, `tokenizer_config.json`, `special_tokens_map.json` and `sentence_bert_config.json`, of which only the first must
 * be there. Throws LehrError `model-unavailable` that names the file and the field.
 */
export async function readTextConfig(folder: string): Promise<TextConfig> {
  const model = await readConfigFile(join(folder, 'config.json'), ModelSchema);
  const tokenizer = await readOptionalConfig(join(folder, 'tokenizer_config.json'), TokenizerConfigSchema);
  const map = await readOptionalConfig(join(folder, 'special_tokens_map.json'), SpecialTokensSchema);
  const sentence = await readOptionalConfig(join(folder, 'sentence_bert_config.json'), SentenceSchema);
  const limits = [positionsOf(model), tokenizer.model_max_length, sentence.max_seq_length];
  const known = limits.filter((limit): limit is number => typeof limit === 'number' && limit <= NO_LIMIT);
  return {
    model,
    firstPosition: firstPositionOf(model),
    lowerCases: sentence.do_lower_case ?? false,
    tokenizer: {
      vocabularySize: model.vocab_size ?? undefined,
      mask: tokenizer.mask_token ?? map.mask_token ?? undefined,
      pad: tokenizer.pad_token ?? map.pad_token ?? undefined,
      unknown: tokenizer.unk_token ?? map.unk_token ?? undefined,
      truncate: tokenizer.truncation_side === 'left' ? 'start' : 'end',
      maxTokens: Math.floor(Math.min(...(known.length > 0 ? known : [USUAL_TOKENS]))),
    },
  };
}

/** How many tokens the table of positions has rows for. */
function positionsOf(model: TextModelConfig): number | undefined {
  const rows = model.max_position_embeddings ?? model.n_positions;
  return typeof rows === 'number' ? rows - firstPositionOf(model) : undefined;
}

const firstPositionOf = ({ model_type, pad_token_id }: TextModelConfig): number =>
  POSITIONS_AFTER_PADDING.has(model_type) ? (pad_token_id ?? 1) + 1 : 0;

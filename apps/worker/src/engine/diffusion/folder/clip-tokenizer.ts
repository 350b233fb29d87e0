/** Opens the `tokenizer/` folder of a Stable Diffusion model. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { LehrError } from '@lehr/shared';
import { z } from 'zod';
import { readConfigFile, readModelText, readOptionalConfig } from '../../folder/config-file.ts';
import { ClipTokenizer, type SpecialTokens, type TokenizerConfig } from '../tokenizer.ts';

/** A token is written as its text, or as an object that holds the text. */
const TokenSchema = z.union([
  z.string(),
  z.object({ content: z.string() }).transform(({ content }) => content),
]);

const SpecialTokensSchema = z.looseObject({
  bos_token: TokenSchema.nullish(),
  eos_token: TokenSchema.nullish(),
  unk_token: TokenSchema.nullish(),
  pad_token: TokenSchema.nullish(),
});

const ConfigSchema = SpecialTokensSchema.extend({
  model_max_length: z.number().min(3).optional(),
  added_tokens_decoder: z.unknown().optional(),
});

/** transformers writes 10^30 for a tokenizer without a limit. */
const UNLIMITED = 1e6;

const TokenizerJsonSchema = z.looseObject({ model: z.looseObject({ type: z.literal('BPE') }) });
const VocabularySchema = z.record(z.string(), z.int().nonnegative());

interface TokenizerOptions {
  /** The most tokens that the text encoder takes; the smaller of this and `model_max_length` counts. */
  readonly maxTokens?: number | undefined;
}

/**
 * Reads `tokenizer_config.json` and either `tokenizer.json` or `vocab.json` and `merges.txt`. Throws LehrError
 * `model-unavailable` that names the file.
 */
export async function openClipTokenizer(
  folder: string,
  options: TokenizerOptions = {},
): Promise<ClipTokenizer> {
  const config = await readConfig(folder);
  const tokenizerJson = await readTokenizerJson(folder, config);
  const maxTokens = Math.min(config.maxTokens, options.maxTokens ?? UNLIMITED);
  if (maxTokens >= UNLIMITED) {
    throw new LehrError('model-unavailable', `${folder} does not say how many tokens a prompt has.`);
  }
  try {
    return new ClipTokenizer(tokenizerJson, { ...config, maxTokens });
  } catch (cause) {
    throw new LehrError('model-unavailable', `${folder} has no tokenizer that Lehr can run.`, { cause });
  }
}

/**
 * In the order of transformers: `special_tokens_map.json` overrides `tokenizer_config.json` unless the latter lists the
 * added tokens too. Models that pad with "!" (Stable Diffusion 2) say so in one of the two. The defaults are those of
 * CLIPTokenizer.
 */
async function readConfig(folder: string): Promise<TokenizerConfig> {
  const config = await readOptionalConfig(join(folder, 'tokenizer_config.json'), ConfigSchema);
  const map = await readOptionalConfig(join(folder, 'special_tokens_map.json'), SpecialTokensSchema);
  const tokens = config.added_tokens_decoder === undefined ? { ...config, ...map } : config;
  return {
    special: {
      bos: tokens.bos_token ?? '<|startoftext|>',
      eos: tokens.eos_token ?? '<|endoftext|>',
      unk: tokens.unk_token ?? '<|endoftext|>',
    },
    pad: tokens.pad_token ?? '<|endoftext|>',
    maxTokens: config.model_max_length ?? UNLIMITED,
  };
}

async function readTokenizerJson(folder: string, config: TokenizerConfig): Promise<object> {
  const whole = join(folder, 'tokenizer.json');
  if (existsSync(whole)) return readConfigFile(whole, TokenizerJsonSchema);
  const vocabularyPath = join(folder, 'vocab.json');
  const vocabulary = await readConfigFile(vocabularyPath, VocabularySchema);
  const merges = await readModelText(join(folder, 'merges.txt'));
  try {
    return buildTokenizerJson(vocabulary, merges, config.special);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new LehrError('model-unavailable', `${vocabularyPath} is not what Lehr expects (${reason})`, {
      cause,
    });
  }
}

const WORD = "'s|'t|'re|'ve|'m|'ll|'d|[\\p{L}]+|[\\p{N}]|[^\\s\\p{L}\\p{N}]+";

/**
 * Builds the `tokenizer.json` that does what CLIP's own code does with a `vocab.json` and a `merges.txt`: Stable
 * Diffusion 1.x folders ship only these two.
 *
 * Throws Error when a special token is not in the vocabulary.
 */
function buildTokenizerJson(
  vocabulary: Readonly<Record<string, number>>,
  mergesText: string,
  special: SpecialTokens,
): object {
  const idOf = (token: string): number => {
    const id = vocabulary[token];
    if (id === undefined) throw new Error(`The vocabulary has no "${token}".`);
    return id;
  };
  const addedToken = (content: string) => ({
    ...{ id: idOf(content), content, special: true, normalized: true },
    ...{ single_word: false, lstrip: false, rstrip: false },
  });
  return {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: [addedToken(special.bos), addedToken(special.eos)],
    normalizer: {
      type: 'Sequence',
      normalizers: [
        { type: 'NFC' },
        { type: 'Replace', pattern: { Regex: '\\s+' }, content: ' ' },
        { type: 'Lowercase' },
      ],
    },
    pre_tokenizer: {
      type: 'Sequence',
      pretokenizers: [
        { type: 'Split', pattern: { Regex: WORD }, behavior: 'Removed', invert: true },
        { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true },
      ],
    },
    post_processor: null,
    decoder: { type: 'ByteLevel', add_prefix_space: true, trim_offsets: true },
    model: {
      type: 'BPE',
      dropout: null,
      unk_token: special.unk,
      continuing_subword_prefix: '',
      end_of_word_suffix: '</w>',
      fuse_unk: false,
      vocab: vocabulary,
      merges: mergesText.split('\n').filter((line) => line.trim() !== '' && !line.startsWith('#version')),
    },
  };
}

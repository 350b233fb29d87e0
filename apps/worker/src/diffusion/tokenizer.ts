/** Prompt to token ids, as CLIP's text encoder wants them. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Tokenizer } from '@huggingface/tokenizers';
import { LehrError } from '@lehr/shared';
import { z } from 'zod';
import { buildTokenizerJson, type SpecialTokens } from './clip-vocabulary.ts';
import { readConfigFile, readModelText, readOptionalConfig } from './config-file.ts';

/** A token stands as its text, or as an object around it. */
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

interface TokenizerConfig {
  readonly special: SpecialTokens;
  readonly pad: string;
  readonly maxTokens: number;
}

/** transformers writes 10^30 for a tokenizer that knows no limit. */
const UNLIMITED = 1e6;

const TokenizerJsonSchema = z.looseObject({ model: z.looseObject({ type: z.literal('BPE') }) });
const VocabularySchema = z.record(z.string(), z.int().nonnegative());

export interface TokenizerOptions {
  /** What the text encoder can take at most; the smaller of this and `model_max_length` counts. */
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
    throw new LehrError('model-unavailable', `${folder} does not tell how many tokens a prompt has.`);
  }
  try {
    return new ClipTokenizer(new Tokenizer(tokenizerJson, {}), { ...config, maxTokens });
  } catch (cause) {
    throw new LehrError('model-unavailable', `${folder} holds no tokenizer that Lehr can run.`, { cause });
  }
}

/**
 * As transformers reads them: `special_tokens_map.json` beats `tokenizer_config.json` unless the latter lists the added
 * tokens too; models that pad with "!" (Stable Diffusion 2) may say so in either. The defaults are those of CLIPTokenizer.
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

export class ClipTokenizer {
  /** Ids per prompt, 77 for CLIP. */
  readonly maxTokens: number;
  readonly #tokenizer: Tokenizer;
  readonly #bos: number;
  readonly #eos: number;
  readonly #pad: number;
  /**
   * No prompt needs more characters than this to fill its tokens, however long they are: what comes after is not
   * tokenized, because one word of 30,000 letters would hold up the engine for a second.
   */
  readonly #usefulLength: number;

  constructor(tokenizer: Tokenizer, { special, pad, maxTokens }: TokenizerConfig) {
    const idOf = (token: string): number => {
      const id = tokenizer.token_to_id(token);
      if (id === undefined) throw new Error(`The vocabulary has no "${token}".`);
      return id;
    };
    this.#tokenizer = tokenizer;
    this.maxTokens = maxTokens;
    this.#bos = idOf(special.bos);
    this.#eos = idOf(special.eos);
    this.#pad = idOf(pad);
    const entries = [...tokenizer.get_vocab().keys()];
    const longest = entries.reduce((length, entry) => Math.max(length, entry.length), 0);
    this.#usefulLength = maxTokens * (longest + 1);
  }

  /**
   * Start of text, the prompt's ids, end of text, padding: `maxTokens` in all. A prompt that is longer loses its end.
   * The text of a special token inside a prompt is dropped, so that no prompt can end or restart the text.
   */
  encode(prompt: string): number[] {
    const content = this.#contentIds(prompt).slice(0, this.maxTokens - 2);
    const ids = [this.#bos, ...content, this.#eos];
    return [...ids, ...new Array<number>(this.maxTokens - ids.length).fill(this.#pad)];
  }

  #contentIds(prompt: string): number[] {
    // Runs of blanks are one blank to CLIP. Only these: JavaScript's \s has a character more than the tokenizer's.
    const text = prompt.replace(/[ \t\r\n]+/g, ' ').slice(0, this.#usefulLength);
    const { ids } = this.#tokenizer.encode(text, { add_special_tokens: false });
    return ids.filter((id: number) => id !== this.#bos && id !== this.#eos);
  }
}

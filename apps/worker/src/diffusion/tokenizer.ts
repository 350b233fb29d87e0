/** Prompt to token ids, as CLIP's text encoder wants them. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Tokenizer } from '@huggingface/tokenizers';
import { LehrError } from '@lehr/shared';
import { z } from 'zod';
import { buildTokenizerJson, type SpecialTokens } from './clip-vocabulary.ts';
import { readConfigFile, readModelText } from './config-file.ts';

/** A token stands as its text, or as an object around it. */
const TokenSchema = z.union([
  z.string(),
  z.object({ content: z.string() }).transform(({ content }) => content),
]);

/** The defaults are those of transformers' CLIPTokenizer. */
const ConfigSchema = z.looseObject({
  bos_token: TokenSchema.default('<|startoftext|>'),
  eos_token: TokenSchema.default('<|endoftext|>'),
  unk_token: TokenSchema.default('<|endoftext|>'),
  pad_token: TokenSchema.default('<|endoftext|>'),
  model_max_length: z.number().min(3).optional(),
});
/** transformers writes 10^30 for a tokenizer that knows no limit. */
const UNLIMITED = 1e6;
type TokenizerConfig = z.infer<typeof ConfigSchema>;

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
  const maxTokens = Math.min(config.model_max_length ?? UNLIMITED, options.maxTokens ?? UNLIMITED);
  if (maxTokens >= UNLIMITED) {
    throw new LehrError('model-unavailable', `${folder} does not tell how many tokens a prompt has.`);
  }
  try {
    return new ClipTokenizer(new Tokenizer(tokenizerJson, config), config, maxTokens);
  } catch (cause) {
    throw new LehrError('model-unavailable', `${folder} holds no tokenizer that Lehr can run.`, { cause });
  }
}

async function readConfig(folder: string): Promise<TokenizerConfig> {
  const path = join(folder, 'tokenizer_config.json');
  return existsSync(path) ? readConfigFile(path, ConfigSchema) : ConfigSchema.parse({});
}

async function readTokenizerJson(folder: string, config: TokenizerConfig): Promise<object> {
  const whole = join(folder, 'tokenizer.json');
  if (existsSync(whole)) return readConfigFile(whole, TokenizerJsonSchema);
  const vocabularyPath = join(folder, 'vocab.json');
  const vocabulary = await readConfigFile(vocabularyPath, VocabularySchema);
  const merges = await readModelText(join(folder, 'merges.txt'));
  const special: SpecialTokens = { bos: config.bos_token, eos: config.eos_token, unk: config.unk_token };
  try {
    return buildTokenizerJson(vocabulary, merges, special);
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

  constructor(tokenizer: Tokenizer, config: TokenizerConfig, maxTokens: number) {
    const idOf = (token: string): number => {
      const id = tokenizer.token_to_id(token);
      if (id === undefined) throw new Error(`The vocabulary has no "${token}".`);
      return id;
    };
    this.#tokenizer = tokenizer;
    this.maxTokens = maxTokens;
    this.#bos = idOf(config.bos_token);
    this.#eos = idOf(config.eos_token);
    this.#pad = idOf(config.pad_token);
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

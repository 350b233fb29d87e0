/** Whisper's byte-level BPE: text to token ids and back. */
import { join } from 'node:path';
import { Tokenizer } from '@huggingface/tokenizers';
import { LehrError } from '@lehr/shared';
import { z } from 'zod';
import { readConfigFile } from '../diffusion/config-file.ts';
import type { GenerationConfig } from '../models/whisper-config.ts';
import { findSpecialTokens, type SpecialTokens, TIMESTAMP_S } from './special-tokens.ts';

const TokenizerJsonSchema = z.looseObject({
  model: z.looseObject({ type: z.literal('BPE') }),
  added_tokens: z.array(z.object({ id: z.int().nonnegative(), content: z.string() })).default([]),
});

/** Which tokens beside text become text, by default none: timestamps as `<|1.50|>`, other special tokens by their names. */
export interface DecodeOptions {
  readonly special?: boolean;
  readonly timestamps?: boolean;
}

/** A word with the tokens it was written in. */
export interface WordTokens {
  readonly word: string;
  readonly tokens: readonly number[];
}

/** Reads `tokenizer.json`. Throws LehrError `model-unavailable` that names the file. */
export async function openWhisperTokenizer(
  folder: string,
  generation: GenerationConfig,
): Promise<WhisperTokenizer> {
  const json = await readConfigFile(join(folder, 'tokenizer.json'), TokenizerJsonSchema);
  const added = new Map(json.added_tokens.map(({ content, id }) => [content, id]));
  try {
    // Without its added tokens: a prompt that spells one out is text like any other and steers nothing.
    const tokenizer = new Tokenizer({ ...json, added_tokens: [] }, {});
    return new WhisperTokenizer(tokenizer, findSpecialTokens(generation, added), added);
  } catch (cause) {
    if (cause instanceof LehrError) throw cause;
    throw new LehrError('model-unavailable', `${folder} holds no tokenizer that Lehr can run.`, { cause });
  }
}

/** Written without blanks between words: any character may begin one. */
const WITHOUT_BLANKS = new Set(['zh', 'ja', 'th', 'lo', 'my', 'yue']);
/** What a cut character decodes to. */
const REPLACEMENT = '\uFFFD';
const EVERYTHING: DecodeOptions = { special: true, timestamps: true };
const PUNCTUATION = new Set('!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~');

export class WhisperTokenizer {
  readonly special: SpecialTokens;
  readonly #tokenizer: Tokenizer;
  readonly #names: ReadonlyMap<number, string>;
  /** The most characters of one token. */
  readonly #longest: number;

  constructor(tokenizer: Tokenizer, special: SpecialTokens, added: ReadonlyMap<string, number>) {
    this.#tokenizer = tokenizer;
    this.special = special;
    this.#names = new Map([...added].map(([name, id]) => [id, name]));
    this.#longest = [...tokenizer.get_vocab().keys()].reduce(
      (length, entry) => Math.max(length, entry.length),
      0,
    );
  }

  /** Ids of the text alone. */
  encode(text: string): number[] {
    return [...this.#tokenizer.encode(text, { add_special_tokens: false }).ids];
  }

  /** As `encode`, the last `count` ids only. Long texts are cut before: tokenizing takes time that others wait for. */
  encodeEnd(text: string, count: number): number[] {
    const useful = (count + 1) * this.#longest;
    return count > 0 ? this.encode(text.slice(-useful)).slice(-count) : [];
  }

  /** A character may be cut over several tokens: decode whole segments, or it becomes U+FFFD. Unknown ids are left out. */
  decode(ids: readonly number[], { special = false, timestamps = false }: DecodeOptions = {}): string {
    const { end, timestampBegin } = this.special;
    let text = '';
    let run: number[] = [];
    const flush = (): void => {
      text += this.#decodeRun(run);
      run = [];
    };
    for (const id of ids) {
      if (id < end) {
        run.push(id);
      } else if (id < timestampBegin) {
        // Tokens that are kept part the bytes around them; tokens that are dropped do not.
        if (special) {
          flush();
          text += this.#names.get(id) ?? '';
        }
      } else if (timestamps) {
        flush();
        text += `<|${((id - timestampBegin) * TIMESTAMP_S).toFixed(2)}|>`;
      }
    }
    flush();
    return text;
  }

  /** The text of these ids in words, as far as the language has any; joined they are the text. */
  splitWords(ids: readonly number[], language: string): WordTokens[] {
    const pieces = this.#splitCharacters(ids);
    return WITHOUT_BLANKS.has(language) ? pieces : this.#joinToWords(pieces);
  }

  /**
   * Ids whose sounds nobody speaks (brackets, notes, quotation marks): what openai suppresses when a model's configs do
   * not list them.
   */
  nonSpeechTokens(): number[] {
    const found = new Set([this.encode(' -')[0], this.encode(" '")[0]]);
    for (const [symbols, always] of [
      [NON_SPEECH, false],
      [MUSIC, true],
    ] as const) {
      for (const symbol of symbols) {
        for (const ids of [this.encode(symbol), this.encode(` ${symbol}`)]) {
          if (ids.length === 1 || always) found.add(ids[0]);
        }
      }
    }
    return [...found].sort((a, b) => a - b);
  }

  #decodeRun(ids: readonly number[]): string {
    const known = ids.filter((id) => this.#tokenizer.id_to_token(id) !== undefined);
    if (known.length === 0) return '';
    return this.#tokenizer.decode(known, {
      skip_special_tokens: false,
      clean_up_tokenization_spaces: false,
    });
  }

  /** The smallest runs of tokens that decode to whole characters. */
  #splitCharacters(ids: readonly number[]): WordTokens[] {
    const whole = this.decode(ids, EVERYTHING);
    const pieces: WordTokens[] = [];
    let tokens: number[] = [];
    let at = 0;
    for (const id of ids) {
      tokens.push(id);
      const word = this.decode(tokens, EVERYTHING);
      const cut = word.indexOf(REPLACEMENT);
      // The text itself may hold the replacement character, which is whole then.
      if (cut !== -1 && whole[at + cut] !== REPLACEMENT) continue;
      pieces.push({ word, tokens });
      at += word.length;
      tokens = [];
    }
    // Bytes left over at the end make no character: they stay with the last word.
    if (tokens.length > 0) pieces.push({ word: this.decode(tokens, EVERYTHING), tokens });
    return pieces;
  }

  /** A word begins at a blank, a special token or a punctuation mark. */
  #joinToWords(pieces: readonly WordTokens[]): WordTokens[] {
    const words: WordTokens[] = [];
    for (const piece of pieces) {
      const isSpecial = piece.tokens[0] >= this.special.end;
      const begins = isSpecial || piece.word.startsWith(' ') || PUNCTUATION.has(piece.word.trim());
      const last = words.at(-1);
      if (begins || !last) words.push(piece);
      else
        words[words.length - 1] = {
          word: last.word + piece.word,
          tokens: [...last.tokens, ...piece.tokens],
        };
    }
    return words;
  }
}

const NON_SPEECH = [
  ...'"#()*+/:;<=>@[\\]^_`{|}~「」『』',
  ...['<<', '>>', '<<<', '>>>', '--', '---', '-(', '-[', "('", '("', '((', '))', '(((', ')))'],
  ...['[[', ']]', '{{', '}}', '♪♪', '♪♪♪'],
];
const MUSIC = [...'♩♪♫♬♭♮♯'];

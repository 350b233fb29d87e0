/** Prompt to token ids, in the form that CLIP's text encoder takes. */
import { Tokenizer } from '@huggingface/tokenizers';
import { parseWeightedPrompt } from '@lehr/shared/prompts';
import { chunkPrompt, type TokenizedPart } from './prompt-chunks.ts';

export interface SpecialTokens {
  readonly bos: string;
  readonly eos: string;
  readonly unk: string;
}

export interface TokenizerConfig {
  readonly special: SpecialTokens;
  readonly pad: string;
  readonly maxTokens: number;
}

/** Start and end of text. */
const FRAME_TOKENS = 2;

export interface TokenizedPrompt {
  /** Start of text, the prompt's ids, end of text, padding: `maxTokens` in all. */
  readonly ids: readonly number[];
  /**
   * Tokens of the whole prompt with start and end of text, without padding; more than `maxTokens` when the prompt is cut. Undefined of a
   * prompt that is so long that it is not tokenized to its end, and so is cut.
   */
  readonly tokens: number | undefined;
}

/** What a text encoder reads in one piece: `maxTokens` ids, and how much each counts; undefined when all count equally. */
export interface EncoderChunk {
  readonly ids: readonly number[];
  readonly weights: readonly number[] | undefined;
}

export interface WeightedPrompt {
  readonly chunks: readonly EncoderChunk[];
  /** Of all chunks, without start and end of text and padding. */
  readonly tokens: number;
}

export class ClipTokenizer {
  /** Ids per prompt, 77 for CLIP. */
  readonly maxTokens: number;
  readonly #tokenizer: Tokenizer;
  readonly #bos: number;
  readonly #eos: number;
  readonly #pad: number;
  readonly #comma: number | undefined;
  /**
   * Characters that fill all ids of a prompt even when every token is as long as the longest one. What follows is not
   * tokenized, because one word of 30,000 letters would block the engine for a second.
   */
  readonly #usefulLength: number;

  /** `tokenizerJson` is what `tokenizer.json` holds. Throws Error where it cannot be run or lacks a special token. */
  constructor(tokenizerJson: object, { special, pad, maxTokens }: TokenizerConfig) {
    const tokenizer = new Tokenizer(tokenizerJson, {});
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
    this.#comma = tokenizer.token_to_id(',</w>');
    const entries = [...tokenizer.get_vocab().keys()];
    const longest = entries.reduce((length, entry) => Math.max(length, entry.length), 0);
    this.#usefulLength = maxTokens * (longest + 1);
  }

  /**
   * Start of text, the prompt's ids, end of text, padding: `maxTokens` in all. A prompt that is too long is cut at the
   * end. Special tokens written out in a prompt are dropped, so that no prompt can end or restart the text.
   */
  encode(prompt: string): number[] {
    return [...this.tokenize(prompt).ids];
  }

  /** As `encode`, and how many tokens the prompt has. */
  tokenize(prompt: string): TokenizedPrompt {
    const text = withSingleBlanks(prompt);
    const content = this.#contentIds(text.slice(0, this.#usefulLength));
    const isWhole = text.length <= this.#usefulLength;
    const ids = this.#frame(content.slice(0, this.maxTokens - FRAME_TOKENS));
    return { ids, tokens: isWhole ? content.length + FRAME_TOKENS : undefined };
  }

  /**
   * A prompt with emphasis: all of it, in as many chunks as it takes. Undefined of one that is longer than `maxChunks` of them: such a text
   * is not tokenized to its end.
   */
  tokenizeWeighted(prompt: string, maxChunks: number): WeightedPrompt | undefined {
    const parts = parseWeightedPrompt(prompt).map((part) => ({ ...part, text: withSingleBlanks(part.text) }));
    const characters = parts.reduce((sum, { text }) => sum + text.length, 0);
    const words = parts.flatMap(({ text }) => text.split(' '));
    const isTooLong = characters > maxChunks * this.#usefulLength;
    if (isTooLong || words.some((word) => word.length > this.#usefulLength)) return undefined;
    const length = this.maxTokens - FRAME_TOKENS;
    const tokenized: TokenizedPart[] = [];
    let tokens = 0;
    for (const { text, weight, isBreak } of parts) {
      const ids = isBreak ? [] : this.#contentIds(text);
      tokens += ids.length;
      if (tokens > maxChunks * length) return undefined;
      tokenized.push({ ids, weight, isBreak });
    }
    const chunks = chunkPrompt(tokenized, { length, comma: this.#comma });
    if (chunks.length > maxChunks) return undefined;
    return {
      chunks: chunks.map(({ ids, weights }) => ({
        ids: this.#frame(ids),
        weights: this.#frameWeights(weights),
      })),
      tokens,
    };
  }

  #frame(content: readonly number[]): number[] {
    const ids = [this.#bos, ...content, this.#eos];
    return [...ids, ...new Array<number>(this.maxTokens - ids.length).fill(this.#pad)];
  }

  /** Start, end and padding have the weight 1. */
  #frameWeights(weights: readonly number[]): readonly number[] | undefined {
    if (weights.every((weight) => weight === 1)) return undefined;
    return [1, ...weights, ...new Array<number>(this.maxTokens - 1 - weights.length).fill(1)];
  }

  #contentIds(text: string): number[] {
    const { ids } = this.#tokenizer.encode(text, { add_special_tokens: false });
    return ids.filter((id: number) => id !== this.#bos && id !== this.#eos);
  }
}

/** CLIP takes a run of blanks for one. Only these four: JavaScript's \s matches one character more than the tokenizer's. */
const withSingleBlanks = (text: string): string => text.replace(/[ \t\r\n]+/g, ' ');

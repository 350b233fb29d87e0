/** Prompt to token ids, in the form that CLIP's text encoder takes. */
import { Tokenizer } from '@huggingface/tokenizers';

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

export class ClipTokenizer {
  /** Ids per prompt, 77 for CLIP. */
  readonly maxTokens: number;
  readonly #tokenizer: Tokenizer;
  readonly #bos: number;
  readonly #eos: number;
  readonly #pad: number;
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
    // CLIP takes a run of blanks for one. Only these four: JavaScript's \s matches one character more than the tokenizer's.
    const text = prompt.replace(/[ \t\r\n]+/g, ' ');
    const content = this.#contentIds(text.slice(0, this.#usefulLength));
    const ids = [this.#bos, ...content.slice(0, this.maxTokens - FRAME_TOKENS), this.#eos];
    const padding = new Array<number>(this.maxTokens - ids.length).fill(this.#pad);
    const isWhole = text.length <= this.#usefulLength;
    return { ids: [...ids, ...padding], tokens: isWhole ? content.length + FRAME_TOKENS : undefined };
  }

  #contentIds(text: string): number[] {
    const { ids } = this.#tokenizer.encode(text, { add_special_tokens: false });
    return ids.filter((id: number) => id !== this.#bos && id !== this.#eos);
  }
}

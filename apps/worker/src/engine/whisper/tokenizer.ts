/** Whisper's byte-level BPE: text to token ids and back. */
import { Tokenizer } from '@huggingface/tokenizers';
import { type SpecialTokens, TIMESTAMP_S } from './special-tokens.ts';

/** Which special tokens become text, by default none: timestamps as `<|1.50|>`, the others as their names. */
export interface DecodeOptions {
  readonly special?: boolean;
  readonly timestamps?: boolean;
}

/** A word and its tokens. */
export interface WordTokens {
  readonly word: string;
  readonly tokens: readonly number[];
}

/** Languages written without blanks between words: any character can begin one. */
const WITHOUT_BLANKS = new Set(['zh', 'ja', 'th', 'lo', 'my', 'yue']);
/** What an incomplete character decodes to. */
const REPLACEMENT = '\uFFFD';
const EVERYTHING: DecodeOptions = { special: true, timestamps: true };
const PUNCTUATION = new Set('!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~');

export class WhisperTokenizer {
  readonly special: SpecialTokens;
  readonly #tokenizer: Tokenizer;
  readonly #names: ReadonlyMap<number, string>;
  /** Characters of the longest token. */
  readonly #longest: number;

  /** `tokenizerJson` is what `tokenizer.json` holds. Throws Error when it cannot be run. */
  constructor(tokenizerJson: object, special: SpecialTokens, added: ReadonlyMap<string, number>) {
    this.#tokenizer = new Tokenizer(tokenizerJson, {});
    this.special = special;
    this.#names = new Map([...added].map(([name, id]) => [id, name]));
    this.#longest = [...this.#tokenizer.get_vocab().keys()].reduce(
      (length, entry) => Math.max(length, entry.length),
      0,
    );
  }

  /** Ids of the text, without special tokens. */
  encode(text: string): number[] {
    return [...this.#tokenizer.encode(text, { add_special_tokens: false }).ids];
  }

  /** As `encode`, but only the last `count` ids. A long text is cut first, because tokenizing blocks the engine. */
  encodeEnd(text: string, count: number): number[] {
    const useful = (count + 1) * this.#longest;
    return count > 0 ? this.encode(text.slice(-useful)).slice(-count) : [];
  }

  /** A character can span several tokens: decode whole segments, or it becomes U+FFFD. Unknown ids are skipped. */
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
        // A token that is kept separates the bytes around it; a dropped one does not.
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

  /** Splits the text of these ids into words, or into characters where the language has no blanks. Joined, they are the text. */
  splitWords(ids: readonly number[], language: string): WordTokens[] {
    const pieces = this.#splitCharacters(ids);
    return WITHOUT_BLANKS.has(language) ? pieces : this.#joinToWords(pieces);
  }

  /**
   * Ids of symbols that are not spoken (brackets, notes, quotation marks): what openai suppresses when a model's configs
   * have no list.
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

  /** The shortest runs of tokens that decode to complete characters. */
  #splitCharacters(ids: readonly number[]): WordTokens[] {
    const whole = this.decode(ids, EVERYTHING);
    const pieces: WordTokens[] = [];
    let tokens: number[] = [];
    let at = 0;
    for (const id of ids) {
      tokens.push(id);
      const word = this.decode(tokens, EVERYTHING);
      const cut = word.indexOf(REPLACEMENT);
      // U+FFFD in the text itself is a complete character.
      if (cut !== -1 && whole[at + cut] !== REPLACEMENT) continue;
      pieces.push({ word, tokens });
      at += word.length;
      tokens = [];
    }
    // Bytes left over at the end are not a complete character: they become a separate piece.
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

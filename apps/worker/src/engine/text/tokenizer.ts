/** Texts to token ids, in the form that encoders of the BERT family take: WordPiece, byte-level BPE and Unigram. */
import { Tokenizer } from '@huggingface/tokenizers';
import { LehrError, type TextItem } from '@lehr/shared';
import { type Span, TokenSpans, type Vocabulary } from './token-spans.ts';

export interface EncodedText {
  readonly ids: readonly number[];
  /** 0 for the first text and 1 for its pair, as the tokenizer says. Same length as `ids`. */
  readonly typeIds: readonly number[];
  /** Index of the first id of the text itself, after the special tokens in front of it. */
  readonly start: number;
  /** Ids of the text itself, from `start`; its pair is not counted. */
  readonly count: number;
  readonly wasTruncated: boolean;
}

interface TokenizerOptions {
  /** The most ids of a text, special tokens included. */
  readonly maxTokens: number;
  readonly truncate: 'end' | 'start';
  readonly mask: string | undefined;
  readonly pad: string | undefined;
  readonly unknown: string | undefined;
  /** Ids that the model has; undefined when its config does not say. */
  readonly vocabularySize: number | undefined;
}

/** Longer texts are cut before they are tokenized where so much text has too many tokens anyway. */
const CHARACTERS_PER_TOKEN = 64;

export class TextTokenizer {
  readonly maxTokens: number;
  /** Undefined for a vocabulary without a mask. */
  readonly mask: { readonly id: number; readonly token: string } | undefined;
  readonly padId: number;
  readonly #tokenizer: Tokenizer;
  readonly #truncate: 'end' | 'start';
  readonly #single: Template;
  readonly #pair: Template;
  readonly #spans: TokenSpans;
  /** After the largest id that a caller may send. Ids may have gaps, so their number says nothing. */
  readonly #end: number;
  readonly #modelSize: number;
  readonly #unknown: number | undefined;

  /** `tokenizerJson` is what `tokenizer.json` holds. Throws Error when it cannot be run. */
  constructor(tokenizerJson: object, options: TokenizerOptions) {
    const { maxTokens, truncate, mask, pad, unknown } = options;
    const tokenizer = new Tokenizer(tokenizerJson, {});
    const maskId = mask === undefined ? undefined : tokenizer.token_to_id(mask);
    this.maxTokens = maxTokens;
    this.mask = mask === undefined || maskId === undefined ? undefined : { id: maskId, token: mask };
    this.padId = (pad === undefined ? undefined : tokenizer.token_to_id(pad)) ?? 0;
    this.#tokenizer = tokenizer;
    this.#truncate = truncate;
    this.#single = readTemplate(tokenizer, false);
    this.#pair = readTemplate(tokenizer, true);
    this.#spans = new TokenSpans(tokenizer, tokenizerJson, unknown);
    this.#modelSize = options.vocabularySize ?? Number.POSITIVE_INFINITY;
    this.#end = Math.min(endOfIds(tokenizer), this.#modelSize);
    this.#unknown = unknown === undefined ? undefined : tokenizer.token_to_id(unknown);
  }

  /**
   * Ids of a text with its special tokens; token ids are taken as the text's own. Throws LehrError `invalid-input` for a text with too
   * many tokens, unless it may be truncated, and for ids that are not in the vocabulary. The message continues the name of the text.
   */
  encode(item: TextItem, options: { readonly mayTruncate: boolean }): EncodedText {
    const isTwo = typeof item === 'object' && 'pair' in item;
    // As transformers: an empty second text is none.
    const template = isTwo && item.pair !== '' ? this.#pair : this.#single;
    const room = this.maxTokens - templateLength(template);
    const first = this.#idsOf(isTwo ? item.text : item, room);
    const second = isTwo ? this.#idsOf(item.pair, room) : [];
    const length = first.length + second.length;
    if (length > room && !options.mayTruncate) throw this.#tooLong(length + this.maxTokens - room);
    const [keepFirst, keepSecond] = kept(first.length, second.length, room);
    return {
      ...assemble(template, this.#cut(first, keepFirst), this.#cut(second, keepSecond)),
      wasTruncated: length > room,
    };
  }

  /** Where each id of the text itself lies in the text. */
  spans(text: string, encoded: EncodedText): Span[] {
    const ids = encoded.ids.slice(encoded.start, encoded.start + encoded.count);
    return this.#spans.of(text, ids, encoded.wasTruncated && this.#truncate === 'start');
  }

  tokenOf(id: number): string {
    return this.#tokenizer.id_to_token(id) ?? '';
  }

  isUnknown(id: number): boolean {
    return id === this.#unknown;
  }

  /** The text of tokens that follow one another. */
  join(tokens: readonly string[]): string {
    return this.#tokenizer.decoder?.decode([...tokens]) ?? tokens.join(' ');
  }

  decode(ids: readonly number[], options: { readonly skipSpecial: boolean }): string {
    if (ids.length === 0) return '';
    return this.#tokenizer.decode([...ids], { skip_special_tokens: options.skipSpecial });
  }

  #idsOf(text: string | readonly number[], room: number): readonly number[] {
    if (typeof text !== 'string') return this.#known(text);
    const encode = (part: string) =>
      this.#known(this.#tokenizer.encode(part, { add_special_tokens: false }).ids, this.#modelSize);
    const useful = room * CHARACTERS_PER_TOKEN;
    if (text.length > useful) {
      // A word of many thousands of letters would block the engine; the first part already decides.
      const ids = encode(this.#truncate === 'end' ? text.slice(0, useful) : text.slice(-useful));
      if (ids.length > room) return ids;
    }
    return encode(text);
  }

  #cut(ids: readonly number[], count: number): readonly number[] {
    if (ids.length <= count) return ids;
    return this.#truncate === 'end' ? ids.slice(0, count) : ids.slice(ids.length - count);
  }

  #known(ids: readonly number[], end = this.#end): readonly number[] {
    const unknown = ids.find((id) => id >= end);
    if (unknown === undefined) return ids;
    throw new LehrError(
      'invalid-input',
      `has the token ${unknown}, and the ids of the vocabulary are below ${end}.`,
    );
  }

  #tooLong(length: number): LehrError {
    return new LehrError(
      'invalid-input',
      `has ${length} tokens, and the model takes at most ${this.maxTokens}. Shorten it, or set truncate.`,
    );
  }
}

function endOfIds(tokenizer: Tokenizer): number {
  let end = 0;
  for (const id of tokenizer.get_vocab().values()) end = Math.max(end, id + 1);
  return end;
}

/**
 * How many ids of a text and of its pair are kept so that both fit: the longer one is cut first, as transformers does with
 * `truncation=True`.
 */
function kept(first: number, second: number, room: number): [first: number, second: number] {
  if (first + second <= room) return [first, second];
  let short = Math.min(first, second);
  let long = Math.max(short, room - short);
  if (short + long > room) {
    short = Math.floor(room / 2);
    long = room - short;
  }
  return first > second ? [long, short] : [short, long];
}

function assemble(
  template: Template,
  first: readonly number[],
  second: readonly number[],
): Omit<EncodedText, 'wasTruncated'> {
  const ids: number[] = [];
  const typeIds: number[] = [];
  let start = 0;
  const idsOf = (part: TemplatePart): readonly number[] => {
    if (part.kind === 'special') return [part.id];
    return part.kind === 'first' ? first : second;
  };
  for (const part of template) {
    if (part.kind === 'first') start = ids.length;
    for (const id of idsOf(part)) {
      ids.push(id);
      typeIds.push(part.typeId);
    }
  }
  return { ids, typeIds, start, count: first.length };
}

type TemplatePart =
  | { readonly kind: 'special'; readonly id: number; readonly typeId: number }
  | { readonly kind: 'first' | 'second'; readonly typeId: number };

type Template = readonly TemplatePart[];

/** Stand for the texts; no vocabulary has them. */
const FIRST = '\0first';
const SECOND = '\0second';

/**
 * Where a tokenizer puts special tokens around a text or a pair of texts, read from its post-processor once.
 *
 * Throws Error when a special token is not in the vocabulary.
 */
function readTemplate(tokenizer: Vocabulary, isPair: boolean): Template {
  const bare = isPair ? [FIRST, SECOND] : [FIRST];
  const processed = tokenizer.post_processor?.post_process([FIRST], isPair ? [SECOND] : null);
  // A post-processor that adds nothing may leave the pair to its caller.
  const isWhole = processed !== undefined && (!isPair || processed.tokens.includes(SECOND));
  const tokens: readonly string[] = isWhole ? processed.tokens : bare;
  const typeIds = isWhole ? processed.token_type_ids : undefined;
  return tokens.map((token, i): TemplatePart => {
    const typeId = typeIds?.[i] ?? 0;
    if (token === FIRST) return { kind: 'first', typeId };
    if (token === SECOND) return { kind: 'second', typeId };
    const id = tokenizer.token_to_id(token);
    if (id === undefined) throw new Error(`The vocabulary has no ${JSON.stringify(token)}.`);
    return { kind: 'special', id, typeId };
  });
}

/** How many special tokens it adds. */
const templateLength = (template: Template): number =>
  template.filter(({ kind }) => kind === 'special').length;

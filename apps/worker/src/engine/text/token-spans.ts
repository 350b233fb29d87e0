/**
 * Where each token lies in its text. The tokenizer library gives no offsets, so they are found again: every character of the text
 * is normalized alone, and the tokens, without their marks of word parts, use up the normalized characters in order. A token that is
 * not in the vocabulary stands for the characters up to the next one that is.
 */
import { z } from 'zod';

/** One unit, and the character of the text that it comes from. */
interface Unit {
  readonly value: string;
  /** In Unicode code points of the text; `end` is after the last one. */
  readonly start: number;
  readonly end: number;
}

interface UnitRules {
  unitsOf(character: string): readonly string[];
  /** Stands before the first character, unless that is a blank. */
  readonly prefix: string | undefined;
  /** Several of these in a row are one unit. */
  readonly joined: string | undefined;
}

/** So many different pieces that are not in the rest of the text show that the tokens do not follow the text any more. */
const MOST_MISSING = 16;

/** The normalized characters of a text, in the units that tokens use up: read only as far as tokens need them. */
export class TextUnits {
  readonly #characters: readonly string[];
  readonly #rules: UnitRules;
  readonly #units: Unit[] = [];
  readonly #missing = new Set<string>();
  #next: number;

  /** `from`: the first character that is read, in code points. */
  constructor(characters: readonly string[], rules: UnitRules, from = 0) {
    this.#characters = characters;
    this.#rules = rules;
    this.#next = from;
    const { prefix } = rules;
    if (from === 0 && prefix !== undefined && characters[0] !== ' ') {
      this.#units.push({ value: prefix, start: 0, end: 1 });
    }
  }

  /** The units of the end of the text, at least `count` of them where the text has so many. */
  static ofEnd(characters: readonly string[], rules: UnitRules, count: number): TextUnits {
    for (let size = count + 1; ; size *= 2) {
      const from = Math.max(0, characters.length - size);
      const units = new TextUnits(characters, rules, from);
      // One more, because the first one may have to be joined to what stands before it.
      if (from === 0 || units.length > count) return units;
    }
  }

  /** Reads the whole text. */
  get length(): number {
    while (this.#readOn());
    return this.#units.length;
  }

  /** Undefined after the end of the text. */
  at(index: number): Unit | undefined {
    while (index >= this.#units.length && this.#readOn());
    return this.#units[index];
  }

  /** The unit at an index, or the last one of the text; undefined for a text without units. */
  atOrLast(index: number): Unit | undefined {
    return this.at(index) ?? this.#units[this.#units.length - 1];
  }

  /**
   * Where `piece` is found from an index on; undefined when it is not. Linear over all calls whose results are used as the next index:
   * what is missing once is not searched again, and after MOST_MISSING pieces nothing is.
   */
  find(piece: readonly string[], from: number): number | undefined {
    const name = piece.join('\n');
    if (this.#missing.has(name) || this.#missing.size >= MOST_MISSING) return undefined;
    for (let at = from; this.at(at + piece.length - 1); at += 1) {
      if (piece.every((value, i) => this.#units[at + i].value === value)) return at;
    }
    this.#missing.add(name);
    return undefined;
  }

  /** Reads a character; false at the end of the text. */
  #readOn(): boolean {
    const start = this.#next;
    if (start >= this.#characters.length) return false;
    this.#next += 1;
    const { unitsOf, joined } = this.#rules;
    for (const value of unitsOf(this.#characters[start])) {
      const isJoined = value === joined && this.#units[this.#units.length - 1]?.value === joined;
      if (!isJoined) this.#units.push({ value, start, end: start + 1 });
    }
    return true;
  }
}

export interface Span {
  /** In Unicode code points of the text; `end` is after the last one. */
  readonly start: number;
  readonly end: number;
  /** Whether the token continues the word of the token before it. */
  readonly continues: boolean;
}

const ModelSchema = z.looseObject({
  model: z.looseObject({ continuing_subword_prefix: z.string().nullish() }),
  pre_tokenizer: z.unknown(),
});

/** What stands for a blank in the tokens of SentencePiece. */
const METASPACE = '\u2581';
const BLANK = /^\s$/u;
const BLANK_BYTES = new Set([9, 10, 11, 12, 13, 32]);

export class TokenSpans {
  readonly #tokenizer: Vocabulary;
  readonly #unknown: number | undefined;
  readonly #prefix: string;
  readonly #isByteLevel: boolean;
  /** Whether a token has the blank before it. Elsewhere blanks belong to no token. */
  readonly #ownsBlanks: boolean;
  readonly #rules: UnitRules;

  constructor(tokenizer: Vocabulary, tokenizerJson: object, unknown: string | undefined) {
    const { model, pre_tokenizer } = ModelSchema.parse(tokenizerJson);
    const has = (type: string): boolean => JSON.stringify(pre_tokenizer ?? null).includes(`"${type}"`);
    this.#tokenizer = tokenizer;
    this.#unknown = unknown === undefined ? undefined : tokenizer.token_to_id(unknown);
    this.#prefix = model.continuing_subword_prefix ?? '';
    this.#isByteLevel = has('ByteLevel');
    this.#ownsBlanks = has('Metaspace') && !has('WhitespaceSplit');
    const joinsBlanks = tokenizer.normalizer?.normalize('a  b') === 'a b';
    this.#rules = {
      unitsOf: (character) => this.#unitsOfCharacter(character),
      // A blank is put before the first word, and counts as its first character.
      prefix: this.#ownsBlanks ? METASPACE : undefined,
      joined: joinsBlanks ? METASPACE : undefined,
    };
  }

  /** `fromEnd`: the ids are those of the end of the text. Reads no more of the text than its tokens stand for, in linear time. */
  of(text: string, ids: readonly number[], fromEnd: boolean): Span[] {
    const characters = [...text];
    const pieces = ids.map((id) => this.#unitsOfToken(id));
    const count = pieces.reduce((sum, piece) => sum + (piece?.length ?? 1), 0);
    const units = fromEnd
      ? TextUnits.ofEnd(characters, this.#rules, count)
      : new TextUnits(characters, this.#rules);
    let at = fromEnd ? units.length - count : 0;
    let lastEnd = -1;
    return pieces.map((piece, i) => {
      const length = piece?.length ?? this.#unknownLength(units, at, pieces[i + 1]);
      const [first, last] = [units.at(at), units.atOrLast(at + length - 1)];
      const start = first?.start ?? lastEnd;
      const end = length === 0 ? start : (last?.end ?? start);
      at += length;
      const continues = this.#continues(ids[i], start, characters);
      lastEnd = end;
      return { start, end, continues };
    });
  }

  /** As transformers: where the vocabulary marks the parts of words, its marks decide; elsewhere a word begins at a blank or after it. */
  #continues(id: number, start: number, characters: readonly string[]): boolean {
    const token = this.#tokenizer.id_to_token(id) ?? '';
    if (this.#prefix !== '') return token.startsWith(this.#prefix);
    return start > 0 && characters[start - 1] !== ' ' && characters[start] !== ' ';
  }

  #unitsOfCharacter(character: string): string[] {
    const normalized = [...(this.#tokenizer.normalizer?.normalize(character) ?? character)];
    if (this.#ownsBlanks) return normalized.map((each) => (each === ' ' ? METASPACE : each));
    const visible = normalized.filter((each) => !BLANK.test(each));
    return this.#isByteLevel ? visible.flatMap((each) => [...Buffer.from(each)].map(String)) : visible;
  }

  /** Undefined for the unknown token. */
  #unitsOfToken(id: number): string[] | undefined {
    if (id === this.#unknown) return undefined;
    const token = this.#tokenizer.id_to_token(id) ?? '';
    const isPart = this.#prefix !== '' && token.startsWith(this.#prefix);
    const characters = [...(isPart ? token.slice(this.#prefix.length) : token)];
    if (this.#isByteLevel)
      return characters
        .map(byteOfCharacter)
        .filter((byte) => !BLANK_BYTES.has(byte))
        .map(String);
    return this.#ownsBlanks ? characters : characters.filter((each) => each !== METASPACE);
  }

  /** Units of an unknown token: with marked word parts the rest of its word, elsewhere all before the next token. */
  #unknownLength(units: TextUnits, from: number, next: readonly string[] | undefined): number {
    if (this.#prefix !== '') return wordLength(units, from);
    if (!next) return units.length - from;
    return (units.find(next, from + 1) ?? from + 1) - from;
  }
}

/** Units from here to the end of the word: until the text has a gap. */
function wordLength(units: TextUnits, from: number): number {
  let last = units.at(from);
  if (!last || isPunctuation(last.value)) return 1;
  for (let to = from + 1; ; to += 1) {
    const next = units.at(to);
    if (!next || next.start > last.end || isPunctuation(next.value)) return to - from;
    last = next;
  }
}

const isPunctuation = (value: string): boolean => /^\p{P}$/u.test(value);

/**
 * The alphabet of byte-level BPE (GPT-2): a character for each byte. Printable bytes of Latin-1 stand for themselves, and the others, in
 * order, for the characters from U+0100 on.
 */
const isPrintable = (byte: number): boolean =>
  (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || (byte >= 0xae && byte <= 0xff);

const BYTES: ReadonlyMap<string, number> = new Map(
  Array.from({ length: 256 }, (_, byte) => byte)
    .sort((a, b) => Number(!isPrintable(a)) - Number(!isPrintable(b)) || a - b)
    .map((byte, i, all) => {
      const printable = all.filter(isPrintable).length;
      return [String.fromCodePoint(isPrintable(byte) ? byte : 0x100 + i - printable), byte];
    }),
);

/** A character outside the alphabet counts as a blank. */
const byteOfCharacter = (character: string): number => BYTES.get(character) ?? 0x20;

/** What this file and tokenizer.ts need of the tokenizer library's class. */
export interface Vocabulary {
  readonly normalizer: { normalize(text: string): string } | null;
  readonly post_processor: {
    post_process(
      tokens: string[],
      pair: string[] | null,
    ): { readonly tokens: readonly string[]; readonly token_type_ids?: readonly number[] };
  } | null;
  token_to_id(token: string): number | undefined;
  id_to_token(id: number): string | undefined;
}

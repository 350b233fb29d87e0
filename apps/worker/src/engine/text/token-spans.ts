/**
 * Where each token lies in its text. The tokenizer library gives no offsets, so they are found again: every character of the text
 * is normalized alone, and the tokens, without their marks of word parts, use up the normalized characters in order. A token that is
 * not in the vocabulary stands for the characters up to the next one that is.
 */

import { z } from 'zod';
import { byteOfCharacter } from './byte-alphabet.ts';
import { TextUnits, type UnitRules } from './text-units.ts';
import type { Vocabulary } from './vocabulary.ts';

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

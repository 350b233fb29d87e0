/** The normalized characters of a text, in the units that tokens use up: read only as far as tokens need them. */

/** One unit, and the character of the text that it comes from. */
export interface Unit {
  readonly value: string;
  /** In Unicode code points of the text; `end` is after the last one. */
  readonly start: number;
  readonly end: number;
}

export interface UnitRules {
  unitsOf(character: string): readonly string[];
  /** Stands before the first character, unless that is a blank. */
  readonly prefix: string | undefined;
  /** Several of these in a row are one unit. */
  readonly joined: string | undefined;
}

/** So many different pieces that are not in the rest of the text show that the tokens do not follow the text any more. */
const MOST_MISSING = 16;

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

/**
 * Reads the emphasis in a prompt as AUTOMATIC1111's web UI does, so that a prompt from there gives the same weights here. Pure, and
 * without imports: the page marks weights with it, and the worker encodes by it.
 *
 *   (word)      1.1 times the weight         (word:1.3)  1.3 times
 *   [word]      1/1.1 times                  \( \) \[ \] \\  the character itself
 *   BREAK       ends the chunk of 75 tokens
 *   <lora:NAME:0.8>  an adapter, which acts on the whole picture; its characters are no words, wherever they stand
 *
 * Brackets nest, and their weights multiply. One that is never closed counts up to the end of the prompt, and one that closes nothing is text.
 * Nothing of this is refused; only the tag of an adapter may have a fault. Other syntax of the web UI, `[from:to:when]`, `[a|b]` and `AND`, is not read: its words are text.
 */

/** How the text of a prompt is read. */
export const PROMPT_SYNTAXES = ['plain', 'weighted'] as const;
export type PromptSyntax = (typeof PROMPT_SYNTAXES)[number];

export interface PromptPart {
  readonly text: string;
  readonly weight: number;
  /** What follows it begins a new chunk; it has no text that is encoded. */
  readonly isBreak: boolean;
}

/** Characters `from` up to `to` of a prompt, as written. */
export interface PromptMark {
  readonly from: number;
  readonly to: number;
  /** Of the text there; brackets, weights and the backslash of an escape have none. */
  readonly weight: number | undefined;
  readonly isBreak: boolean;
}

/** A tag that names an adapter: characters `from` up to `to` of a prompt. */
export interface AdapterTag {
  readonly from: number;
  readonly to: number;
  /** As written there. */
  readonly text: string;
  readonly name: string;
  readonly scale?: number;
  /** Why it cannot be used. */
  readonly fault?: string;
}

const ROUND = 1.1;
const SQUARE = 1 / 1.1;
/** Brackets inside of so many change no weight, so that thousands of them take no time: 1.1 to this power is 13,781. */
const MAX_DEPTH = 100;
/** That of BREAK in the web UI. A bracket around it changes the weight, and then it is a word there and here. */
const BREAK_WEIGHT = -1;

/** A piece of a prompt, in the order of the text. Brackets around it have multiplied its weight. */
interface Piece {
  readonly from: number;
  readonly to: number;
  readonly text: string;
  weight: number;
}

/** Either an escape, a backslash, a bracket, a weight with its closing bracket, a run of other characters, or a colon. */
const TOKEN = /\\[()[\]\\]|\\|\(|\[|:([+-]?[.\d]+)\)|\)|\]|[^\\()[\]:]+|:/g;
/**
 * Letters of every script end a word, as in Python. Blanks before it are only tried from the first of them: from each of thousands, that would
 * take seconds.
 */
const BREAK = /(?:(?<!\s)\s+)?(?<![\p{L}\p{N}_])BREAK(?![\p{L}\p{N}_])\s*/gu;
/** As many digits as one likes, with at most one point: the web UI ends with an error for others, which are text here. */
const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)$/;

const ADAPTER_TAG = /<lora:([^<>]+)>/gi;

/** Separates the tags of adapters from a prompt. The text keeps every other character, as in the web UI. */
export function takeAdapterTags(prompt: string): {
  readonly text: string;
  readonly tags: readonly AdapterTag[];
} {
  const tags = [...prompt.matchAll(ADAPTER_TAG)].map(({ 0: text, 1: inside, index }) => ({
    from: index,
    to: index + text.length,
    text,
    ...readTag(inside),
  }));
  return { text: tags.length === 0 ? prompt : prompt.replace(ADAPTER_TAG, ''), tags };
}

function readTag(inside: string): Pick<AdapterTag, 'name' | 'scale' | 'fault'> {
  const [name, scale, ...more] = inside.split(':').map((piece) => piece.trim());
  if (name === '') return { name, fault: 'names no adapter' };
  if (scale === undefined) return { name };
  if (more.length > 0) {
    return { name, fault: 'has two numbers; an adapter has one here, for the UNet and the text encoders' };
  }
  return NUMBER.test(scale)
    ? { name, scale: Number(scale) }
    : { name, fault: 'has no number behind its name' };
}

/** The texts of a prompt with their weights. Neighbours of equal weight are one part. At least one part. */
export function parseWeightedPrompt(prompt: string): PromptPart[] {
  const parts: { text: string; weight: number }[] = [];
  for (const { text, weight } of piecesOf(prompt)) {
    const last = parts.at(-1);
    if (last?.weight === weight) last.text += text;
    else parts.push({ text, weight });
  }
  if (parts.length === 0) return [{ text: '', weight: 1, isBreak: false }];
  return parts.map((part) => ({ ...part, isBreak: isBreak(part) }));
}

/** The same prompt for people: where its weighted texts are, and the signs between them. The marks cover all of it, in order. */
export function markWeightedPrompt(prompt: string): PromptMark[] {
  const { text, tags } = takeAdapterTags(prompt);
  return withTags(marksOf(text), tags);
}

function marksOf(prompt: string): PromptMark[] {
  const marks: PromptMark[] = [];
  let at = 0;
  const signsUpTo = (to: number): void => {
    if (to > at) marks.push({ from: at, to, weight: undefined, isBreak: false });
    at = to;
  };
  for (const piece of piecesOf(prompt)) {
    if (piece.to === piece.from) continue;
    signsUpTo(piece.from);
    const isEnd = isBreak(piece);
    marks.push({ from: piece.from, to: piece.to, weight: isEnd ? undefined : piece.weight, isBreak: isEnd });
    at = piece.to;
  }
  signsUpTo(prompt.length);
  return marks;
}

/** Puts the tags back to where they were taken from; they are signs. */
function withTags(marks: readonly PromptMark[], tags: readonly AdapterTag[]): PromptMark[] {
  const all: PromptMark[] = [];
  /** Characters of the tags before. */
  let moved = 0;
  let nth = 0;
  const tagsBefore = (to: number, mark?: PromptMark, start = 0): number => {
    let from = start;
    for (; nth < tags.length && tags[nth].from < to + moved; nth++) {
      const tag = tags[nth];
      if (mark && tag.from > from) all.push({ ...mark, from, to: tag.from });
      all.push({ from: tag.from, to: tag.to, weight: undefined, isBreak: false });
      moved += tag.to - tag.from;
      from = tag.to;
    }
    return from;
  };
  for (const mark of marks) {
    const from = tagsBefore(mark.to, mark, mark.from + moved);
    all.push({ ...mark, from, to: mark.to + moved });
  }
  tagsBefore(Number.POSITIVE_INFINITY);
  return all;
}

const isBreak = ({ text, weight }: { readonly text: string; readonly weight: number }): boolean =>
  text === 'BREAK' && weight === BREAK_WEIGHT;

function piecesOf(prompt: string): Piece[] {
  const pieces: Piece[] = [];
  /** Of each open bracket, how many pieces are before it. */
  const round: number[] = [];
  const square: number[] = [];
  const weigh = (start: number, by: number): void => {
    for (let i = start; i < pieces.length; i++) pieces[i].weight *= by;
  };
  const close = (open: number[], by: number): boolean => {
    const start = open.pop();
    if (start !== undefined && open.length < MAX_DEPTH) weigh(start, by);
    return start !== undefined;
  };
  for (const { 0: token, 1: written, index } of prompt.matchAll(TOKEN)) {
    if (token.startsWith('\\')) {
      // A backslash before another character is dropped.
      const to = index + token.length;
      pieces.push({ from: Math.min(index + 1, to), to, text: token.slice(1), weight: 1 });
    } else if (token === '(') round.push(pieces.length);
    else if (token === '[') square.push(pieces.length);
    else if (written !== undefined && NUMBER.test(written) && close(round, Number(written))) continue;
    else if (token === ')' && close(round, ROUND)) continue;
    else if (token === ']' && close(square, SQUARE)) continue;
    else for (const piece of betweenBreaks(token, index)) pieces.push(piece);
  }
  for (const start of round.slice(0, MAX_DEPTH)) weigh(start, ROUND);
  for (const start of square.slice(0, MAX_DEPTH)) weigh(start, SQUARE);
  return pieces;
}

/** A text without brackets, and each BREAK in it as a piece. */
function betweenBreaks(text: string, offset: number): Piece[] {
  const pieces: Piece[] = [];
  const push = (from: number, to: number, weight: number, as = text.slice(from, to)): void => {
    pieces.push({ from: offset + from, to: offset + to, text: as, weight });
  };
  let at = 0;
  for (const { 0: found, index } of text.matchAll(BREAK)) {
    push(at, index, 1);
    at = index + found.length;
    push(index, at, BREAK_WEIGHT, 'BREAK');
  }
  push(at, text.length, 1);
  return pieces;
}

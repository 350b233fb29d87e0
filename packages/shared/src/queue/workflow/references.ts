/** References `{{node.field}}` in the strings of a node's input. */
import type { NodePicture } from '../../contracts/media-source.ts';
import { MAX_INLINE_TEXT_BYTES } from '../../contracts/text.ts';
import { MAX_PROMPT_LENGTH } from '../../contracts/text-to-image.ts';

/**
 * The fields of a finished node that later nodes may refer to, by its type: texts as parts of a string, a picture as the whole
 * field `image` or `mask` or that of a control, a latent as `image`. Of a transform its model decides which of the two it has.
 */
export const OFFERED_FIELDS = {
  'speech-to-text': ['text', 'language'],
  'text-to-image': ['image', 'latent'],
  'picture-transform': ['image', 'labels'],
  'text-embedding': [],
  'text-classification': [],
  'fill-mask': [],
  'token-classification': [],
} as const satisfies Record<string, readonly string[]>;

/** The fields that take a picture of another node, and so does the `image` of each control. */
export const PICTURE_FIELDS = ['image', 'mask'] as const;

/** The text of a field that takes a picture, by its pointer from the input of its node; undefined for other fields. */
export function pictureFieldAt(input: object, pointer: string): string | undefined {
  const [, name, index, field] = pointer.split('/');
  const own = PICTURE_FIELDS.find((each) => pointer === `/${each}`);
  const { control, ...values }: { readonly [name: string]: unknown } = { ...input };
  const isControl = name === 'control' && field === 'image' && Array.isArray(control);
  const value = isControl ? control[Number(index)]?.image : own && values[own];
  return typeof value === 'string' ? value : undefined;
}

const PATTERN = /\{\{\s*([a-z][a-z0-9_-]*)\.([a-z_]+)\s*\}\}/g;

/** What an input's field refers to that is one reference and nothing else, to a picture or a latent; undefined for any other text. */
export function pictureReference(text: string): NodePicture | undefined {
  const [, node, field] = new RegExp(`^${PATTERN.source}$`).exec(text.trim()) ?? [];
  return field === 'image' || field === 'latent' ? { kind: 'node', node, field } : undefined;
}

export interface Reference {
  readonly node: string;
  readonly field: string;
  /** JSON pointer to the string that contains it, from the node's input. */
  readonly pointer: string;
}

/** Every reference in an input, at any depth. */
export function findReferences(input: unknown, pointer = ''): Reference[] {
  if (typeof input === 'string') {
    return [...input.matchAll(PATTERN)].map(([, node, field]) => ({ node, field, pointer }));
  }
  if (typeof input !== 'object' || input === null) return [];
  return Object.entries(input).flatMap(([name, value]) => findReferences(value, `${pointer}/${name}`));
}

/** The most JSON of a node's input after filling: it stays in the record of the node's job. */
const MAX_FILLED_INPUT_BYTES = MAX_INLINE_TEXT_BYTES;

type LookUp = (node: string, field: string) => string;

interface Limits {
  /** Of one string, in characters. */
  readonly maxLength: number;
  /** Bytes of JSON that may still be inserted into this input. */
  room: number;
  /** Strings with references that are not filled yet; each gets an equal part of the room, and what the ones before it left. */
  strings: number;
}

/**
 * The input with every reference replaced by the result of `lookUp`. Inserted text is not searched again, and is cut where its string would
 * become longer than `maxLength`, and where the JSON of the whole input would become longer than MAX_FILLED_INPUT_BYTES.
 */
export function fillReferences<Input>(
  input: Input,
  lookUp: LookUp,
  maxLength: number = MAX_PROMPT_LENGTH,
): Input {
  const strings = new Set(findReferences(input).map(({ pointer }) => pointer)).size;
  const unfilled = fill(input, () => '', { maxLength, room: 0, strings });
  const room = Math.max(0, MAX_FILLED_INPUT_BYTES - jsonBytes(unfilled));
  return fill(input, lookUp, { maxLength, room, strings });
}

function fill<Input>(input: Input, lookUp: LookUp, limits: Limits): Input {
  if (typeof input === 'string') return fillText(input, lookUp, limits) as Input;
  if (typeof input !== 'object' || input === null) return input;
  if (Array.isArray(input)) return input.map((each) => fill(each, lookUp, limits)) as Input;
  const filled = Object.entries(input).map(([name, value]) => [name, fill(value, lookUp, limits)]);
  return Object.fromEntries(filled) as Input;
}

/** The limits matter: a small workflow can refer thousands of times to the transcript of a talk of hours. */
function fillText(text: string, lookUp: LookUp, limits: Limits): string {
  const posted = text.replace(PATTERN, '');
  if (posted === text) return text;
  let length = Math.max(0, limits.maxLength - posted.length);
  let share = Math.floor(limits.room / limits.strings);
  limits.strings -= 1;
  return text.replace(PATTERN, (_, node: string, field: string) => {
    const filled = cut(lookUp(node, field), length, share);
    const bytes = jsonBytes(filled) - QUOTES;
    length -= filled.length;
    share -= bytes;
    limits.room -= bytes;
    return filled;
  });
}

const QUOTES = 2;
const jsonBytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

/** The start of the text with at most so many characters and bytes of JSON. */
function cut(text: string, length: number, bytes: number): string {
  // A character takes one byte or more. Half of a surrogate pair is no character.
  const start = text.slice(0, Math.min(length, bytes)).replace(/[\uD800-\uDBFF]$/, '');
  if (jsonBytes(start) - QUOTES <= bytes) return start;
  let end = 0;
  let left = bytes;
  for (const character of start) {
    left -= jsonBytes(character) - QUOTES;
    if (left < 0) break;
    end += character.length;
  }
  return start.slice(0, end);
}

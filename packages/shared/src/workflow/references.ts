/** References `{{node.field}}` in the strings of a node's input. */
import { MAX_PROMPT_LENGTH } from '../contracts/text-to-image.ts';

/** The fields of a finished node that later nodes may refer to, by its type. Texts only: a reference is part of a string. */
export const OFFERED_FIELDS = {
  'speech-to-text': ['text', 'language'],
  'text-to-image': [],
  'text-embedding': [],
  'text-classification': [],
  'fill-mask': [],
  'token-classification': [],
} as const satisfies Record<string, readonly string[]>;

export interface Reference {
  readonly node: string;
  readonly field: string;
  /** JSON pointer to the string that contains it, from the node's input. */
  readonly pointer: string;
}

const PATTERN = /\{\{\s*([a-z][a-z0-9_-]*)\.([a-z_]+)\s*\}\}/g;

/** Every reference in an input, at any depth. */
export function findReferences(input: unknown, pointer = ''): Reference[] {
  if (typeof input === 'string') {
    return [...input.matchAll(PATTERN)].map(([, node, field]) => ({ node, field, pointer }));
  }
  if (typeof input !== 'object' || input === null) return [];
  return Object.entries(input).flatMap(([name, value]) => findReferences(value, `${pointer}/${name}`));
}

/**
 * The input with every reference replaced by the result of `lookUp`. Inserted text is not searched again, and is cut where
 * the string would become longer than `maxLength`.
 */
export function fillReferences<Input>(
  input: Input,
  lookUp: (node: string, field: string) => string,
  maxLength = MAX_PROMPT_LENGTH,
): Input {
  if (typeof input === 'string') return fillText(input, lookUp, maxLength) as Input;
  if (typeof input !== 'object' || input === null) return input;
  if (Array.isArray(input)) return input.map((each) => fillReferences(each, lookUp, maxLength)) as Input;
  const filled = Object.entries(input).map(([name, value]) => [
    name,
    fillReferences(value, lookUp, maxLength),
  ]);
  return Object.fromEntries(filled) as Input;
}

/** The limit matters: one prompt can refer thousands of times to the transcript of a talk of hours. */
function fillText(text: string, lookUp: (node: string, field: string) => string, maxLength: number): string {
  let room = Math.max(0, maxLength - text.replace(PATTERN, '').length);
  return text.replace(PATTERN, (_, node: string, field: string) => {
    const filled = lookUp(node, field).slice(0, room);
    room -= filled.length;
    return filled;
  });
}

/** References `{{node.field}}` in the strings of a node's input. */
import { MAX_PROMPT_LENGTH } from '../contracts/text-to-image.ts';

/** The fields of a finished node that later nodes may refer to, by its type. Texts only: a reference is part of a string. */
export const OFFERED_FIELDS = {
  'speech-to-text': ['text', 'language'],
  'text-to-image': [],
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
 * the string would become longer than the longest allowed prompt.
 */
export function fillReferences<Input>(input: Input, lookUp: (node: string, field: string) => string): Input {
  if (typeof input === 'string') return fillText(input, lookUp) as Input;
  if (typeof input !== 'object' || input === null) return input;
  if (Array.isArray(input)) return input.map((each) => fillReferences(each, lookUp)) as Input;
  const filled = Object.entries(input).map(([name, value]) => [name, fillReferences(value, lookUp)]);
  return Object.fromEntries(filled) as Input;
}

/** The limit matters: one prompt can refer thousands of times to the transcript of a talk of hours. */
function fillText(text: string, lookUp: (node: string, field: string) => string): string {
  let room = Math.max(0, MAX_PROMPT_LENGTH - text.replace(PATTERN, '').length);
  return text.replace(PATTERN, (_, node: string, field: string) => {
    const filled = lookUp(node, field).slice(0, room);
    room -= filled.length;
    return filled;
  });
}

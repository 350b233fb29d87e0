/** Where a tokenizer puts special tokens around a text or a pair of texts, read from its post-processor once. */
import type { Vocabulary } from './vocabulary.ts';

export type TemplatePart =
  | { readonly kind: 'special'; readonly id: number; readonly typeId: number }
  | { readonly kind: 'first' | 'second'; readonly typeId: number };

export type Template = readonly TemplatePart[];

/** Stand for the texts; no vocabulary has them. */
const FIRST = '\0first';
const SECOND = '\0second';

/** Throws Error when a special token is not in the vocabulary. */
export function readTemplate(tokenizer: Vocabulary, isPair: boolean): Template {
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
export const templateLength = (template: Template): number =>
  template.filter(({ kind }) => kind === 'special').length;

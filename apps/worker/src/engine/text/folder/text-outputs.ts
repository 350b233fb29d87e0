/** Which output of a text graph answers which type of job. */
import { LehrError, type TextJobType } from '@lehr/shared';
import type { ValueInfo } from '../../runtime/runtime.ts';
import type { TextModelConfig } from './text-config.ts';

export type TextOutputs = Partial<Record<TextJobType, string>>;

/** Vectors of a text with the pooling inside, as in Optimum's exports of sentence-transformers; then vectors of its tokens. */
const POOLED = ['sentence_embedding'];
const HIDDEN = ['last_hidden_state', 'token_embeddings'];
/** Scores of the vocabulary in a graph that has labels as well; Optimum's graphs have one head, and call its output `logits`. */
const MASK_LOGITS = 'mask_logits';
const LOGITS = 'logits';

/**
 * `logits` are scores of labels when they have no axis of positions. With one, they are scores of the vocabulary or of labels: the
 * architecture says which, and the width, where the graph gives it. Throws LehrError `model-unavailable` when no output is known.
 */
export function findOutputs(outputs: readonly ValueInfo[], config: TextModelConfig): TextOutputs {
  const named = (name: string): ValueInfo | undefined => outputs.find((output) => output.name === name);
  const found: TextOutputs = {};
  const embedding = [...POOLED, ...HIDDEN].find((name) => named(name) !== undefined);
  if (embedding !== undefined) found['text-embedding'] = embedding;
  if (named(MASK_LOGITS)) found['fill-mask'] = MASK_LOGITS;
  const logits = named(LOGITS);
  if (logits) found[headOf(logits, config)] = LOGITS;
  if (Object.keys(found).length === 0) {
    const names = outputs.map(({ name }) => name).join(', ');
    throw new LehrError(
      'model-unavailable',
      `The text graph has none of the outputs ${[...POOLED, ...HIDDEN, LOGITS].join(', ')}; it has ${names}.`,
    );
  }
  return found;
}

function headOf({ dims }: ValueInfo, { architectures, vocab_size }: TextModelConfig): TextJobType {
  if (dims.length === 2) return 'text-classification';
  const [architecture = ''] = architectures ?? [];
  if (architecture.endsWith('ForMaskedLM')) return 'fill-mask';
  if (architecture.endsWith('ForTokenClassification')) return 'token-classification';
  return dims[dims.length - 1] === vocab_size ? 'fill-mask' : 'token-classification';
}

/** Whether the graph makes one vector of a text itself. */
export const isPooled = (outputs: TextOutputs): boolean => POOLED.includes(outputs['text-embedding'] ?? '');

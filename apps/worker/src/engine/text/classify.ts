/** The labels of a text. */
import type { ClassifyOptions, Label } from '../protocol/messages.ts';
import { best, sigmoid, softmax } from './scores.ts';

interface Labels {
  readonly labels: readonly string[];
  readonly function: 'softmax' | 'sigmoid' | 'none';
}

export function classify(logits: Float32Array, model: Labels, options: ClassifyOptions): Label[] {
  const scores = scored(logits, options.function ?? model.function);
  return best(scores, options.topK ?? scores.length).map((i) => ({
    label: labelOf(model.labels, i),
    score: scores[i],
  }));
}

function scored(logits: Float32Array, by: Labels['function']): Float64Array {
  if (by === 'none') return Float64Array.from(logits);
  return by === 'softmax' ? softmax(logits) : sigmoid(logits);
}

/** transformers' name for a label without one. */
export const labelOf = (labels: readonly string[], index: number): string =>
  labels[index] ?? `LABEL_${index}`;

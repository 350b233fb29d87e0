/** Logits to scores, and the labels that a model has for them. */
import type { ClassifyOptions, Label } from '../protocol/messages.ts';

export function softmax(logits: Float32Array): Float64Array {
  let largest = Number.NEGATIVE_INFINITY;
  for (const logit of logits) if (logit > largest) largest = logit;
  const scores = Float64Array.from(logits, (logit) => Math.exp(logit - largest));
  const sum = scores.reduce((total, score) => total + score, 0);
  return scores.map((score) => score / sum);
}

const sigmoid = (logits: Float32Array): Float64Array =>
  Float64Array.from(logits, (logit) => 1 / (1 + Math.exp(-logit)));

/** Indices of the `count` best scores, best first; of equal scores the one with the smaller index first. */
export function best(scores: Float64Array, count: number): number[] {
  const order = (a: number, b: number): number => scores[b] - scores[a] || a - b;
  if (count * 4 >= scores.length) return Array.from(scores.keys()).sort(order).slice(0, count);
  // A vocabulary has many thousand entries, of which a few are wanted.
  const chosen: number[] = [];
  for (let i = 0; i < scores.length; i += 1) {
    const score = scores[i];
    if (chosen.length === count) {
      if (score <= scores[chosen[count - 1]]) continue;
      chosen.pop();
    }
    chosen.splice(placeOf(score, chosen, scores), 0, i);
  }
  return chosen;
}

/** Where a score stands among the chosen ones, which are in order: behind those that are equal. */
function placeOf(score: number, chosen: readonly number[], scores: Float64Array): number {
  let from = 0;
  let to = chosen.length;
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (scores[chosen[middle]] >= score) from = middle + 1;
    else to = middle;
  }
  return from;
}

interface Labels {
  readonly labels: readonly string[];
  readonly function: 'softmax' | 'sigmoid' | 'none';
}

/** The labels of a text or a picture. */
export function classify(logits: Float32Array, model: Labels, options: ClassifyOptions): Label[] {
  const scores = scored(logits, options.function ?? model.function);
  return best(scores, options.topK ?? scores.length).map((i) => ({
    label: labelOf(model.labels, i),
    score: scores[i],
  }));
}

export function scored(logits: Float32Array, by: Labels['function']): Float64Array {
  if (by === 'none') return Float64Array.from(logits);
  return by === 'softmax' ? softmax(logits) : sigmoid(logits);
}

interface LabelConfig {
  readonly id2label?: Readonly<Record<string, string>> | null | undefined;
  readonly problem_type?: string | null | undefined;
}

/** By index; the keys of `id2label` are the indices. */
export function labelsOf({ id2label }: LabelConfig): string[] {
  const labels: string[] = [];
  for (const [index, label] of Object.entries(id2label ?? {})) labels[Number(index)] = label;
  return labels;
}

/** As the pipelines of transformers choose it. */
export function functionOf(config: LabelConfig): Labels['function'] {
  if (config.problem_type === 'regression') return 'none';
  const isSingle = labelsOf(config).length === 1;
  return config.problem_type === 'multi_label_classification' || isSingle ? 'sigmoid' : 'softmax';
}

/** transformers' name for a label without one. */
export const labelOf = (labels: readonly string[], index: number): string =>
  labels[index] ?? `LABEL_${index}`;

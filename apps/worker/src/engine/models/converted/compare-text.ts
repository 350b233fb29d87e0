/** How far the answers of one export of a text model are from those of another one, for ordinary sentences. */
import type { TextJobType } from '@lehr/shared';
import type { InferenceRuntime } from '../../runtime/runtime.ts';
import { EXAMPLE_TEXTS } from '../../text/example-texts.ts';
import { openTextModel, type TextModel, type TextOptions } from '../../text/folder/text-folder.ts';
import { pool } from '../../text/pooling.ts';
import type { RowOutput } from '../../text/text-graph.ts';
import { scored } from '../../values/scores.ts';

export interface TextDifference {
  readonly type: TextJobType;
  /** Of vectors: one less the smallest cosine of a vector and the original's. Of scores: the largest difference. Infinite when it is not a number. */
  readonly difference: number;
  /** Set for outputs that are no probabilities, as of a regression: each difference is a share of the range that the output has over the sentences. */
  readonly of_range?: true;
}

/**
 * Each sentence alone in the model of `options`, with each sentence alone and with all of them in one run in the same model as `variant`: in an
 * int8 graph a text is rounded by what else is in its run.
 */
export async function compareText(
  folder: string,
  runtime: InferenceRuntime,
  options: TextOptions,
  variant: string,
): Promise<TextDifference[]> {
  const wanted = await using(folder, runtime, options, (model) => answersOf(model, ALONE));
  return using(folder, runtime, { ...options, variant }, async (model) => {
    const found = [await answersOf(model, ALONE), await answersOf(model, TOGETHER)];
    return model.types.map((type) => {
      const isFree = type === 'text-classification' && model.reading.function === 'none';
      const ranges = isFree ? rangesOf(wanted[type]) : undefined;
      const differences = found.flatMap((answers) =>
        answers[type].map((values, i) => differenceOf(type, wanted[type][i], values, ranges)),
      );
      const largest = Math.max(...differences);
      const difference = Number.isNaN(largest) ? Number.POSITIVE_INFINITY : largest;
      return { type, difference, ...(isFree && { of_range: true }) };
    });
  });
}

const ALONE = EXAMPLE_TEXTS.map((text) => [text]);
const TOGETHER = [EXAMPLE_TEXTS];

async function using<Result>(
  folder: string,
  runtime: InferenceRuntime,
  options: TextOptions,
  use: (model: TextModel) => Promise<Result>,
): Promise<Result> {
  const model = await openTextModel(folder, runtime, options);
  try {
    return await use(model);
  } finally {
    await model.close();
  }
}

/** By type of job, one list of numbers for each text. */
type Answers = Record<TextJobType, Float64Array[]>;

async function answersOf(
  { graph, reading, tokenizer, types }: TextModel,
  runs: readonly (readonly string[])[],
): Promise<Answers> {
  const answers: Answers = {
    'text-embedding': [],
    'text-classification': [],
    'fill-mask': [],
    'token-classification': [],
  };
  const names = [...new Set(Object.values(reading.outputs))];
  for (const run of runs) {
    const texts = run.map((text) => tokenizer.encode(text, { mayTruncate: true }));
    const rows = await graph.run(texts, names);
    for (const type of types) {
      const name = reading.outputs[type] ?? '';
      for (const [i, row] of rows.entries())
        answers[type].push(numbersOf(type, row[name], texts[i].ids.length, reading));
    }
  }
  return answers;
}

function numbersOf(
  type: TextJobType,
  output: RowOutput,
  tokens: number,
  reading: TextModel['reading'],
): Float64Array {
  const { positions, values, width } = output;
  if (type === 'text-embedding')
    return Float64Array.from(positions === 1 ? values : pool(output, tokens, reading.poolings));
  if (type === 'text-classification') return scored(values, reading.function);
  // Padding comes after the tokens.
  const all = new Float64Array(tokens * width);
  for (let i = 0; i < tokens; i += 1)
    all.set(scored(values.subarray(i * width, (i + 1) * width), 'softmax'), i * width);
  return all;
}

/** How far the smallest and the largest value of each output are apart. */
const rangesOf = ([first, ...more]: readonly Float64Array[]): Float64Array =>
  first.map((value, i) => {
    const values = [value, ...more.map((each) => each[i])];
    return Math.max(...values) - Math.min(...values);
  });

function differenceOf(
  type: TextJobType,
  wanted: Float64Array,
  found: Float64Array,
  ranges: Float64Array | undefined,
): number {
  if (type !== 'text-embedding') {
    const differences = wanted.map((value, i) => Math.abs(value - found[i]) / (ranges?.[i] ?? 1));
    return differences.reduce((most, difference) => Math.max(most, difference), 0);
  }
  const product = (a: Float64Array, b: Float64Array): number =>
    a.reduce((sum, value, i) => sum + value * b[i], 0);
  return 1 - product(wanted, found) / Math.sqrt(product(wanted, wanted) * product(found, found));
}

/** What a graph's outputs mean for the text that they were computed from: an embedding, labels, fillings or entities. */
import type { TextJobType } from '@lehr/shared';
import type { Filling, Label, TextEntity, TextWork } from '../protocol/messages.ts';
import type { TextAnswers } from '../protocol/text-messages.ts';
import { classify } from '../values/scores.ts';
import { entitiesOf } from './entities.ts';
import { fillMasks } from './fill-mask.ts';
import { finishEmbedding, type Pooling, pool } from './pooling.ts';
import type { RowOutput } from './text-graph.ts';
import type { EncodedText, TextTokenizer } from './tokenizer.ts';

export type TextAnswer =
  | { readonly type: 'text-embedding'; readonly embedding: Float32Array }
  | { readonly type: 'text-classification'; readonly labels: readonly Label[] }
  | { readonly type: 'fill-mask'; readonly fills: readonly (readonly Filling[])[] }
  | { readonly type: 'token-classification'; readonly entities: readonly TextEntity[] };

/** How a model's outputs are read, by its files. */
export interface Reading {
  /** The output of each type of job that the model has. */
  readonly outputs: Readonly<Partial<Record<TextJobType, string>>>;
  readonly poolings: readonly Pooling[];
  readonly normalizes: boolean;
  /** By index of the logit; for classification and for the classification of tokens. */
  readonly labels: readonly string[];
  readonly function: 'softmax' | 'sigmoid' | 'none';
}

interface AnsweredText {
  readonly encoded: EncodedText;
  /** Undefined when the text was given as token ids, or as a pair. */
  readonly text: string | undefined;
}

/** `output` is the row of the work's output. Yields between parts of an answer that may take long. */
export function* answer(
  work: TextWork,
  { encoded, text }: AnsweredText,
  output: RowOutput,
  tokenizer: TextTokenizer,
  reading: Reading,
): Generator<undefined, TextAnswer> {
  const { type } = work;
  switch (type) {
    case 'text-embedding': {
      // A graph with the pooling inside has no positions left.
      const isPooled = output.positions === 1 && encoded.ids.length !== 1;
      const vector = isPooled ? output.values : pool(output, encoded.ids.length, reading.poolings);
      const dimensions = work.dimensions ?? vector.length;
      const normalized = work.normalize ?? reading.normalizes;
      return { type, embedding: finishEmbedding(vector, { dimensions, normalized }) };
    }
    case 'text-classification':
      return { type, labels: classify(output.values, reading, work) };
    case 'fill-mask':
      return { type, fills: yield* fillMasks(encoded, output, tokenizer, work.topK) };
    case 'token-classification':
      return {
        type,
        entities: entitiesOf({ encoded, text: text ?? '' }, output, tokenizer, reading.labels, work),
      };
  }
}

/** The answers of a sample's texts, as one message carries them. */
export function joinAnswers(type: TextJobType, answers: readonly TextAnswer[]): TextAnswers {
  switch (type) {
    case 'text-embedding': {
      const embeddings = ofType(answers, type).map(({ embedding }) => embedding);
      const dimensions = embeddings[0]?.length ?? 0;
      const values = new Float32Array(embeddings.length * dimensions);
      for (const [i, embedding] of embeddings.entries()) values.set(embedding, i * dimensions);
      return { type, values, dimensions };
    }
    case 'text-classification':
      return { type, labels: ofType(answers, type).map(({ labels }) => labels) };
    case 'fill-mask':
      return { type, fills: ofType(answers, type).map(({ fills }) => fills) };
    case 'token-classification':
      return { type, entities: ofType(answers, type).map(({ entities }) => entities) };
  }
}

const ofType = <Type extends TextJobType>(
  answers: readonly TextAnswer[],
  type: Type,
): Extract<TextAnswer, { type: Type }>[] =>
  answers.filter((each): each is Extract<TextAnswer, { type: Type }> => each.type === type);

/** The input of a text job in the words of the engine, and the engine's answers in the words of the record. */
import {
  type FillMaskInput,
  LehrError,
  type StoredTextResult,
  type TextClassificationInput,
  type TextEmbeddingInput,
  type TextJobType,
  type TokenClassificationInput,
} from '@lehr/shared';
import type { TextAnswers, TextSample } from '../../engine/protocol/messages.ts';

export type TextInput =
  | ({ readonly type: 'text-embedding' } & TextEmbeddingInput)
  | ({ readonly type: 'text-classification' } & TextClassificationInput)
  | ({ readonly type: 'fill-mask' } & FillMaskInput)
  | ({ readonly type: 'token-classification' } & TokenClassificationInput);

export function workOf(input: TextInput): TextSample['work'] {
  switch (input.type) {
    case 'text-embedding':
      return { type: input.type, normalize: input.normalize, dimensions: input.dimensions };
    case 'text-classification':
      return { type: input.type, topK: input.top_k, function: input.function };
    case 'fill-mask':
      return { type: input.type, topK: input.top_k };
    case 'token-classification':
      return { type: input.type, aggregation: input.aggregation, ignoreLabels: input.ignore_labels };
  }
}

export function resultOf(answers: TextAnswers): StoredTextResult {
  switch (answers.type) {
    case 'text-embedding': {
      const { values, dimensions } = answers;
      // Every machine that ONNX Runtime runs on stores numbers little-endian.
      const bytes = Buffer.from(values.buffer, values.byteOffset, values.byteLength);
      return { embeddings: bytes.toString('base64'), dimensions };
    }
    case 'text-classification':
      return { labels: answers.labels.map((labels) => [...labels]) };
    case 'fill-mask':
      return { fills: answers.fills.map((masks) => masks.map((fills) => [...fills])) };
    case 'token-classification':
      return { entities: answers.entities.map((entities) => [...entities]) };
  }
}

/** Throws LehrError `invalid-input` for a type of job that the outputs of the model do not answer. */
export function checkType(type: TextJobType, types: readonly TextJobType[], ref: string): void {
  if (types.includes(type)) return;
  throw new LehrError(
    'invalid-input',
    `${ref} cannot run jobs of type ${type}; its graph answers: ${types.join(', ')}.`,
  );
}

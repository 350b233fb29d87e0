/** The answers of a sample's texts, as one message carries them. */
import type { TextJobType } from '@lehr/shared';
import type { TextAnswers } from '../../protocol/text-messages.ts';
import type { TextAnswer } from '../answers.ts';

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

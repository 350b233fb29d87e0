/** How the dialects answer with the result of a text job: plain data, because large answers are written in a thread. */
import type { Entity, TextJobType } from '@lehr/shared';
import { embeddingsIn, type TextResult } from '../jobs/text-result.ts';
import type { Embeddings } from './openai/embedding-contract.ts';

export type TextShape = EmbeddingsShape | PipelineShape;

/** The answer, before it is written as JSON. */
export const shapedAnswer = (result: TextResult, shape: TextShape): unknown =>
  shape.dialect === 'openai' ? embeddingsAnswer(result, shape) : pipelineAnswer(result, shape);

export interface PipelineShape {
  readonly dialect: 'huggingface';
  readonly type: TextJobType;
  /** The caller sent one text and not a list. */
  readonly isOne: boolean;
  /** Of embeddings. */
  readonly format: 'float' | 'base64';
  /** The field with the label of an entity. */
  readonly labelField: 'entity' | 'entity_group';
}

/** The answer to one text has no list around it, but for text classification, where the clients expect one. */
function pipelineAnswer(result: TextResult, shape: PipelineShape): unknown {
  const each = resultsOf(result, shape);
  return shape.isOne && shape.type !== 'text-classification' ? each[0] : each;
}

function resultsOf(result: TextResult, { type, format, labelField }: PipelineShape): readonly unknown[] {
  switch (type) {
    case 'text-embedding':
      return embeddingsIn(result, format);
    case 'text-classification':
      return result.labels ?? [];
    case 'fill-mask':
      // A text with one mask has its tokens without a list of masks.
      return (result.fills ?? []).map((masks) => (masks.length === 1 ? masks[0] : masks));
    case 'token-classification':
      return (result.entities ?? []).map((entities) => entities.map((entity) => renamed(entity, labelField)));
  }
}

const renamed = (
  { label, ...entity }: Entity,
  name: PipelineShape['labelField'],
): Record<string, unknown> => ({
  [name]: label,
  ...entity,
});

interface EmbeddingsShape {
  readonly dialect: 'openai';
  readonly format: 'float' | 'base64';
  /** `name@version`. */
  readonly model: string;
}

function embeddingsAnswer(result: TextResult, { format, model }: EmbeddingsShape): Embeddings {
  return {
    object: 'list',
    data: embeddingsIn(result, format).map((embedding, index) => ({ object: 'embedding', index, embedding })),
    model,
    usage: { prompt_tokens: result.tokens, total_tokens: result.tokens },
  };
}

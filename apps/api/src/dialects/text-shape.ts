/** How the dialects answer with the result of a text job: plain data, because large answers are written in a thread. */
import type { TextResult } from '../jobs/text-result.ts';
import { type PipelineShape, pipelineAnswer } from './huggingface/pipeline-answer.ts';
import { type EmbeddingsShape, embeddingsAnswer } from './openai/embeddings-answer.ts';

export type TextShape = EmbeddingsShape | PipelineShape;

/** The answer, before it is written as JSON. */
export const shapedAnswer = (result: TextResult, shape: TextShape): unknown =>
  shape.dialect === 'openai' ? embeddingsAnswer(result, shape) : pipelineAnswer(result, shape);

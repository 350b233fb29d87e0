/** The answer to a call of OpenAI's embeddings. */
import { embeddingsIn, type TextResult } from '../../jobs/text-result.ts';
import type { Embeddings } from './embedding-contract.ts';

export interface EmbeddingsShape {
  readonly dialect: 'openai';
  readonly format: 'float' | 'base64';
  /** `name@version`. */
  readonly model: string;
}

export function embeddingsAnswer(result: TextResult, { format, model }: EmbeddingsShape): Embeddings {
  return {
    object: 'list',
    data: embeddingsIn(result, format).map((embedding, index) => ({ object: 'embedding', index, embedding })),
    model,
    usage: { prompt_tokens: result.tokens, total_tokens: result.tokens },
  };
}

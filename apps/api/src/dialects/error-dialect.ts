/**
 * How errors are answered: as problem+json, in OpenAI's envelope, as both at once where both kinds of client call, or as the
 * inference API of Hugging Face answers them.
 */
export type ErrorDialect = 'native' | 'openai' | 'both' | 'huggingface';

const OPENAI = /^\/v1\/(?:images|audio|embeddings)(?:\/|$)/;
const HUGGINGFACE = /^\/(?:(?:hf-inference\/)?models\/|fill-mask$)/;
/** One name after `models/`: two names are a Replicate model. */
const MODELS = /^\/v1\/models(?:\/[^/]+)?$/;

export function dialectOf(path: string): ErrorDialect {
  if (OPENAI.test(path)) return 'openai';
  if (HUGGINGFACE.test(path)) return 'huggingface';
  return MODELS.test(path) ? 'both' : 'native';
}

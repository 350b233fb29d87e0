/** How errors are answered: as problem+json, in OpenAI's envelope, or as both at once where both kinds of client call. */
export type ErrorDialect = 'native' | 'openai' | 'both';

const OPENAI = /^\/v1\/(?:images|audio)(?:\/|$)/;
/** One name after `models/`: two names are a Replicate model. */
const MODELS = /^\/v1\/models(?:\/[^/]+)?$/;

export function dialectOf(path: string): ErrorDialect {
  if (OPENAI.test(path)) return 'openai';
  return MODELS.test(path) ? 'both' : 'native';
}

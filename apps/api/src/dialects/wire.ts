/** Whose words a refusal is told in: as problem+json, in OpenAI's envelope, or both at once where both kinds of client come. */
export type Wire = 'native' | 'openai' | 'both';

const OPENAI = /^\/v1\/(?:images|audio)(?:\/|$)/;
/** Replicate's models have two names behind the slash. */
const MODELS = /^\/v1\/models(?:\/[^/]+)?$/;

export function wireOf(path: string): Wire {
  if (OPENAI.test(path)) return 'openai';
  return MODELS.test(path) ? 'both' : 'native';
}

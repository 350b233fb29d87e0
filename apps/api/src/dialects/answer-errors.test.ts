import { expect, test } from 'vitest';
import { dialectOf } from './answer-errors.ts';

test.each([
  ['/v1/images/generations', 'openai'],
  ['/v1/images/edits', 'openai'],
  ['/v1/embeddings', 'openai'],
  ['/models/minilm', 'huggingface'],
  ['/hf-inference/models/minilm/pipeline/feature-extraction', 'huggingface'],
  ['/fill-mask', 'huggingface'],
  ['/fill-masks', 'native'],
  ['/v1/audio/transcriptions', 'openai'],
  ['/v1/models', 'both'],
  ['/v1/models/tiny', 'both'],
  ['/v1/models/lehr%2Ftiny', 'both'],
  ['/v1/models/lehr/tiny', 'native'],
  ['/v1/models/lehr/tiny/predictions', 'native'],
  ['/v1/predictions', 'native'],
  ['/v1/jobs', 'native'],
  ['/v1/imagesque', 'native'],
  ['/t2i', 'native'],
])('An error at %s is answered in the %s dialect', (path, dialect) => {
  expect(dialectOf(path)).toBe(dialect);
});

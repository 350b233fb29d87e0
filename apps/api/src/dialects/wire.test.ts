import { expect, test } from 'vitest';
import { wireOf } from './wire.ts';

test.each([
  ['/v1/images/generations', 'openai'],
  ['/v1/images/edits', 'openai'],
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
])('what is refused at %s is told as %s', (path, wire) => {
  expect(wireOf(path)).toBe(wire);
});

import type { Job } from '@lehr/client';
import { expect, test } from 'vitest';
import { snippetOf } from './snippets.ts';

const job = {
  type: 'text-to-image',
  model: 'demo@1',
  input: { prompt: "a cat's eye", negative_prompt: '', seed: 7, language: null },
} as unknown as Job;

test('A shell line keeps a quote of the prompt, and leaves empty settings out', () => {
  const line = snippetOf('curl', job, 'http://lehr.test');
  expect(line).toContain(
    String.raw`'{"type":"text-to-image","model":"demo@1","input":{"prompt":"a cat'\''s eye","seed":7}}'`,
  );
});

test.each(['TypeScript', 'Python'] as const)('The program in %s has the address and the seed', (language) => {
  const text = snippetOf(language, job, 'http://lehr.test');
  expect(text).toContain('http://lehr.test');
  expect(text).toMatch(/seed\\?": ?7/);
});

import { parseRegistry } from '@lehr/shared';
import { expect, test } from 'vitest';
import { ModelEntries } from './model-entries.ts';
import { ServedModels } from './served-models.ts';

test('A job of texts counts as at most an eighth of its lane, so that the jobs of others are claimed beside it', () => {
  const registry = parseRegistry(
    'models: [{ name: minilm, task: text, tasks: [text-embedding], versions: [{ version: "1", path: minilm }] }]',
  );
  const models = new ServedModels(() => [], new ModelEntries(registry, () => []), ['text', 'diffusion']);
  expect(models.mostRows('text.minilm@1', 8192)).toBe(1024);
  expect(models.mostRows('diffusion.tiny@1.64x64', 8)).toBe(Number.POSITIVE_INFINITY);
});

import { expect, test } from 'vitest';
import { companionsOf, versionsOf } from './companions.ts';
import { parseRegistry } from './registry.ts';

const FILE = `models:
  - name: draws
    task: diffusion
    versions: [{ version: "1", path: a }]
    upscalers: [larger@1]
    safety: { model: judge }
    controls:
      - { name: edges, path: c/edges, preprocess: canny }
      - { name: depth, source: hf://owner/depth, revision: v1, preprocess: distance }
  - { name: larger, task: transform, result: picture, scale: 2, versions: [{ version: "1", path: b }, { version: "2", path: c }] }
  - name: judge
    task: transform
    result: class
    versions: [{ version: "1", path: d, weight: 0 }, { version: "2", path: e }, { version: "3", path: f }]
  - { name: other, task: transform, result: mask, versions: [{ version: "1", path: g }] }
  - { name: distance, task: transform, result: mask, versions: [{ version: "1", path: h }] }
`;

test('Workers of a model open the versions of other models that it uses, and no others', () => {
  const registry = parseRegistry(FILE);
  expect(companionsOf(registry, registry.models[0])).toEqual(['judge@2', 'larger@1', 'distance@1']);
  const refs = (tasks: Parameters<typeof versionsOf>[1]) => versionsOf(registry, tasks).map(({ ref }) => ref);
  expect(refs(['diffusion'])).toEqual(['draws@1', 'larger@1', 'judge@2', 'distance@1']);
  expect(refs(['transform'])).toEqual([
    ...['larger@1', 'larger@2', 'judge@1', 'judge@2', 'judge@3', 'other@1', 'distance@1'],
  ]);
  expect(refs(['text'])).toEqual([]);
});

test.each([
  ['safety: { model: judge }', 'safety: { model: other }', 'models.0.safety.model: "other"'],
  ['safety: { model: judge }', 'safety: { model: judge@9 }', 'models.0.safety.model: "judge@9"'],
  ['larger@1', 'draws', 'models.0.upscalers.0: "draws"'],
  [
    'preprocess: distance',
    'preprocess: judge',
    'models.0.controls.1.preprocess: "judge" is no model here of the task transform with the result picture or mask',
  ],
])('A model that names another one of the wrong kind is refused: %s as %s', (is, as, fault) => {
  expect(() => parseRegistry(FILE.replace(is, as))).toThrow(fault);
});

import { expect, test } from 'vitest';
import {
  batchOf,
  type Comparison,
  fromFragment,
  lineOf,
  MAX_CELLS,
  problemOf,
  toFragment,
  valuesOf,
} from './comparison.ts';

const COMPARISON: Comparison = {
  prompt: 'a red circle & a star',
  model: 'demo',
  width: '64',
  height: '64',
  steps: '20',
  guidance: '5',
  sampler: 'ddim',
  seed: '7',
  version: '',
  x: 'steps',
  xs: '5, 10 20',
  y: 'sampler',
  ys: 'ddim,euler',
};

test('A comparison is a sweep over both axes, and its cells are the lines with their values', () => {
  const { sweep, priority } = batchOf(COMPARISON);
  expect(priority).toBe('interactive');
  expect(sweep).toEqual({
    request: {
      type: 'text-to-image',
      model: 'demo',
      input: {
        prompt: COMPARISON.prompt,
        width: 64,
        height: 64,
        steps: 20,
        guidance: 5,
        sampler: 'ddim',
        seed: 7,
        prompt_syntax: 'weighted',
        n: 1,
      },
    },
    values: { steps: [5, 10, 20], sampler: ['ddim', 'euler'] },
  });
  const lines = [
    { line: 1, custom_id: 'line-1', values: { sampler: 'ddim', steps: 5 } },
    { line: 2, custom_id: 'line-2', values: { sampler: 'ddim', steps: 10 } },
  ];
  expect(lineOf(lines, COMPARISON, '10', 'ddim')).toBe(lines[1]);
  expect(lineOf(lines, COMPARISON, '10', 'euler')).toBe(undefined);
});

test('Versions of the model can be an axis', () => {
  const { sweep } = batchOf({ ...COMPARISON, y: 'version', ys: '1,2' });
  expect(sweep?.values).toEqual({ steps: [5, 10, 20], model: ['demo@1', 'demo@2'] });
});

test('The fragment of the address keeps every field, and what is no axis or no id is dropped', () => {
  expect(fromFragment(toFragment(COMPARISON))).toEqual(COMPARISON);
  expect(fromFragment(toFragment(COMPARISON, 'batch_1'))).toEqual({ ...COMPARISON, batch: 'batch_1' });
  expect(fromFragment('x=colour&y=seed&other=1&prompt=b')).toEqual({ y: 'seed', prompt: 'b' });
  expect(['..', '../jobs', ''].map((batch) => fromFragment(toFragment(COMPARISON, batch)))).toEqual(
    Array(3).fill(COMPARISON),
  );
});

test.each([
  [{ prompt: ' ' }, 'prompt'],
  [{ y: 'steps' }, 'same-axis'],
  [{ xs: ' , ' }, 'no-values'],
  [{ xs: 'ten' }, 'not-numbers'],
  [{ xs: Array.from({ length: MAX_CELLS }, (_, i) => i).join() }, 'too-many'],
  [{}, undefined],
] as const)('What is wrong with a comparison is named: %o', (change, problem) => {
  expect(problemOf({ ...COMPARISON, ...change } as Comparison)).toBe(problem);
});

test('The batch is named after the beginning of a long prompt, whole characters of it', () => {
  const { metadata } = batchOf({ ...COMPARISON, prompt: `a${'🙂'.repeat(200)}` });
  expect(metadata).toEqual({ name: `a${'🙂'.repeat(99)}` });
});

test('Equal values of an axis count once', () => {
  expect(valuesOf('1, 2 1;3')).toEqual(['1', '2', '3']);
});

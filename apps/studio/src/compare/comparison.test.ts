import { expect, test } from 'vitest';
import {
  type Comparison,
  cellsOf,
  fromFragment,
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

test('The cells are the products of both axes, row by row, and differ in nothing else', () => {
  const cells = cellsOf(COMPARISON);
  expect(cells.map(({ x, y }) => `${x} ${y}`)).toEqual([
    '5 ddim',
    '10 ddim',
    '20 ddim',
    '5 euler',
    '10 euler',
    '20 euler',
  ]);
  expect(cells[4].request).toEqual({
    type: 'text-to-image',
    model: 'demo',
    input: {
      prompt: COMPARISON.prompt,
      width: 64,
      height: 64,
      steps: 10,
      guidance: 5,
      sampler: 'euler',
      seed: 7,
      prompt_syntax: 'weighted',
      n: 1,
    },
  });
});

test('Versions of the model can be an axis', () => {
  const cells = cellsOf({ ...COMPARISON, y: 'version', ys: '1,2' });
  expect(cells.map(({ request }) => request.model)).toEqual([
    'demo@1',
    'demo@1',
    'demo@1',
    'demo@2',
    'demo@2',
    'demo@2',
  ]);
});

test('The fragment of the address keeps every field, and unknown axes are dropped', () => {
  expect(fromFragment(toFragment(COMPARISON))).toEqual(COMPARISON);
  expect(fromFragment('x=colour&y=seed&other=1&prompt=b')).toEqual({ y: 'seed', prompt: 'b' });
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

test('Equal values of an axis count once', () => {
  expect(valuesOf('1, 2 1;3')).toEqual(['1', '2', '3']);
});

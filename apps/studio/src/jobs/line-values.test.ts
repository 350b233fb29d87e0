import type { BatchLine, Job } from '@lehr/client';
import { expect, test } from 'vitest';
import { valuesOfLines } from './line-values.ts';

const line = (number: number, input?: object, rest: Partial<BatchLine> = {}): BatchLine => ({
  line: number,
  custom_id: `line-${number}`,
  ...(input && { job: { model: 'demo@1', input } as unknown as Job }),
  ...rest,
});

test('A line of a sweep has the values of its lists, also while it has no job', () => {
  const values = { sampler: 'euler', steps: 4 };
  expect(valuesOfLines([line(1, undefined, { values }), line(2, { seed: 1 }, { values })])).toEqual([
    [
      ['sampler', 'euler'],
      ['steps', '4'],
    ],
    [
      ['sampler', 'euler'],
      ['steps', '4'],
    ],
  ]);
});

test('Other lines have the fields that are not the same in all jobs of the page', () => {
  const lines = [
    line(1, { prompt: 'a', mask_blur: 4, n: 1 }),
    line(2, { prompt: 'b', n: 1 }),
    line(3),
    line(4, { texts: ['one', 'two'], n: 1 }),
  ];
  expect(valuesOfLines(lines)).toEqual([
    [
      ['prompt', 'a'],
      ['mask blur', '4'],
    ],
    [['prompt', 'b']],
    [],
    [['texts', 'one +1']],
  ]);
});

test('One line, and lines that ask for the same, have nothing that tells them apart', () => {
  expect(valuesOfLines([line(1, { prompt: 'a' }), line(2, { prompt: 'a' })])).toEqual([[], []]);
  expect(valuesOfLines([line(1, { prompt: 'a' })])).toEqual([[]]);
});

import type { BatchLine, Job } from '@lehr/client';
import { expect, test } from 'vitest';
import { settingText, valuesOfLines } from './setting-text.ts';

test('Adapters and controls of a job are written with their strengths, and a control with the steps it guides', () => {
  const adapters = [
    { name: 'night', scale: 1 },
    { name: 'outline', scale: 0.5 },
  ];
  expect(settingText('adapters', adapters)).toBe('night 1, outline 0.5');
  const control = [
    { name: 'shapes', image: 'data:', scale: 1, start: 0, end: 1 },
    { name: 'shapes', image: 'data:', scale: 0.8, start: 0.1, end: 0.6, preprocess: 'canny' },
  ];
  expect(settingText('control', control)).toBe('shapes 1, shapes of canny 0.8, steps 10 % to 60 %');
});

test('Adapters as they were asked for may be without a strength, or none', () => {
  expect(settingText('adapters', [{ name: 'night' }, { name: 'outline', scale: 0 }])).toBe(
    'night, outline 0',
  );
  expect(settingText('adapters', [])).toBe('none');
});

test('Any other field is written as it is', () => {
  expect([settingText('steps', 20), settingText('expand', { left: 64 })]).toEqual(['20', '{"left":64}']);
});

const line = (number: number, input?: object, rest: Partial<BatchLine> = {}): BatchLine => ({
  line: number,
  custom_id: `line-${number}`,
  ...(input && {
    job: { type: 'texts' in input ? 'fill-mask' : 'text-to-image', model: 'demo@1', input } as unknown as Job,
  }),
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

test('Other lines have the fields that are not the same in all jobs of their type', () => {
  const lines = [
    line(1, { prompt: 'a', mask_blur: 4, n: 1 }),
    line(2, { prompt: 'b', mask_blur: null, n: 1 }),
    line(3),
    line(4, { texts: ['one', 'two'], n: 2 }),
    line(5, { texts: ['three'], n: 2 }),
  ];
  expect(valuesOfLines(lines)).toEqual([
    [
      ['prompt', 'a'],
      ['mask blur', '4'],
    ],
    [['prompt', 'b']],
    [],
    [['texts', 'one +1']],
    [['texts', 'three']],
  ]);
});

test('One line, and lines that ask for the same, have nothing that tells them apart', () => {
  expect(valuesOfLines([line(1, { prompt: 'a' }), line(2, { prompt: 'a' })])).toEqual([[], []]);
  expect(valuesOfLines([line(1, { prompt: 'a' })])).toEqual([[]]);
});

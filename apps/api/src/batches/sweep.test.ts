import { SweepSchema } from '@lehr/shared';
import { expect, test } from 'vitest';
import { pointerIn, sampleLines, sweepCount, sweepLine } from './sweep.ts';

const sweep = SweepSchema.parse({
  request: { type: 'text-to-image', input: { width: 64, seed: 9 } },
  values: { seed: [1, 2, 3], model: ['a', 'b'], prompt: ['x', 'y'] },
});

test('A sweep has every combination of its values once, the seed fastest and the model slowest', () => {
  const lines = Array.from({ length: sweepCount(sweep) }, (_, i) => sweepLine(sweep, i));
  expect(lines).toHaveLength(12);
  expect(new Set(lines.map((line) => JSON.stringify(line))).size).toBe(12);
  expect(lines.slice(0, 4)).toEqual(
    [
      ['x', 1],
      ['x', 2],
      ['x', 3],
      ['y', 1],
    ].map(([prompt, seed]) => ({ type: 'text-to-image', model: 'a', input: { width: 64, prompt, seed } })),
  );
  expect(lines[6]).toMatchObject({ model: 'b', input: { prompt: 'x', seed: 1 } });
});

test('The lines that are checked have every value of every list, and no more lines than values', () => {
  const samples = [...sampleLines(sweep)];
  expect(samples.map(({ placeOf }) => ['model', 'prompt', 'seed'].map(placeOf).join(' '))).toEqual([
    '0 0 0',
    '0 0 1',
    '0 0 2',
    '0 0 0',
    '0 1 0',
    '0 0 0',
    '1 0 0',
  ]);
  expect(
    ['/input/prompt', '/input/seed', '/input/width', '/model', '/type'].map((each) =>
      pointerIn(sweep, samples[4], each),
    ),
  ).toEqual([
    '/sweep/values/prompt/1',
    '/sweep/values/seed/0',
    '/sweep/request/input/width',
    '/sweep/values/model/0',
    '/sweep/request/type',
  ]);
  expect(samples[2].request).toMatchObject({ input: { seed: 3 } });
  expect(samples[4].request).toMatchObject({ input: { prompt: 'y', seed: 1 } });
  expect(samples[6].request).toMatchObject({ model: 'b', input: { prompt: 'x' } });
});

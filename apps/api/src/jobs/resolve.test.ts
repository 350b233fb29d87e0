import {
  groupQueueName,
  newJobId,
  parseGroupQueueName,
  parseRegistry,
  type WorkerStatus,
} from '@lehr/shared';
import { expect, test } from 'vitest';
import { completeInput } from './complete-input.ts';
import { fractionOf, groupOf } from './resolve.ts';

const input = { width: 64, height: 96, steps: 8, sampler: 'euler', guidance: 4 } as Parameters<
  typeof groupOf
>[0];
const model = { name: 'tiny', version: '1' };
const serving = (batching: 'step' | 'aligned', ref = 'tiny@1') =>
  ({ models: [{ ref, batching, providers: {} }], lanes: [] }) as unknown as WorkerStatus;

test('Jobs of one model and size share a group whatever their steps, sampler and guidance', () => {
  const group = { task: 'diffusion', model, width: 64, height: 96 };
  expect(groupOf(input, model, [])).toEqual(group);
  expect(groupOf(input, model, [serving('step'), serving('aligned', 'tiny@2')])).toEqual(group);
});

test('One worker that batches only aligned jobs makes the group aligned, because every worker can run aligned jobs', () => {
  expect(groupOf(input, model, [serving('step'), serving('aligned')]).aligned).toEqual({
    steps: 8,
    sampler: 'euler',
    guidance: 4,
  });
});

test('Ids spread evenly between 0 and 1, and an id always gives the same value', () => {
  const ids = Array.from({ length: 4000 }, newJobId);
  const fractions = ids.map(fractionOf);
  expect(fractions).toEqual(ids.map(fractionOf));
  expect(Math.min(...fractions)).toBeGreaterThanOrEqual(0);
  expect(Math.max(...fractions)).toBeLessThan(1);
  for (const quarter of [0, 0.25, 0.5, 0.75]) {
    const share = fractions.filter((each) => each >= quarter && each < quarter + 0.25).length / ids.length;
    expect(Math.abs(share - 0.25)).toBeLessThan(0.05);
  }
});

test.each([1e-320, 1e-7, 1 / 3, 7.5, 50])(
  'The name of an aligned group with guidance %d parses back to the same group',
  (guidance) => {
    const { model: entry } = parseRegistry(
      'models: [{ name: tiny, task: diffusion, versions: [{ version: "1", path: t }] }]',
    ).resolve('diffusion', 'tiny', 0);
    const group = groupOf(completeInput({ prompt: 'x', guidance }, entry), model, [serving('aligned')]);
    expect(parseGroupQueueName(groupQueueName(group))).toEqual(group);
  },
);

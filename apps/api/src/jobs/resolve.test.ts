import {
  groupQueueName,
  newJobId,
  parseGroupQueueName,
  parseRegistry,
  type TextToImageRequest,
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

const entryOf = (family: string) =>
  parseRegistry(
    `models: [{ name: m, task: diffusion, family: ${family}, versions: [{ version: "1", path: m }] }]`,
  ).resolve('diffusion', 'm', 0).model;

test('SDXL takes the sizes of a picture, and they are stored only where the caller gave them', () => {
  const request: TextToImageRequest = {
    prompt: 'x',
    original_size: [512, 768],
    crops_coords_top_left: [0, 64],
  };
  const input = completeInput(request, entryOf('sdxl'));
  expect(input).toMatchObject(request);
  expect(input).not.toHaveProperty('target_size');
});

test('Another family refuses the sizes of a picture, and names each field', () => {
  const request: TextToImageRequest = { prompt: 'x', target_size: [512, 512] };
  expect(() => completeInput(request, entryOf('sd-turbo'))).toThrow(
    expect.objectContaining({
      code: 'invalid-input',
      problems: [
        { pointer: '/input/target_size', detail: 'is for SDXL models, and m is of the family sd-turbo' },
      ],
    }),
  );
});

test('A distilled model draws with the few steps and the sampler of its family', () => {
  expect(completeInput({ prompt: 'x' }, entryOf('sdxl-turbo'))).toMatchObject({
    width: 512,
    steps: 1,
    guidance: 0,
    sampler: 'euler_a',
  });
  expect(() => completeInput({ prompt: 'x', sampler: 'euler' }, entryOf('lcm'))).toThrow(
    expect.objectContaining({
      problems: [{ pointer: '/input/sampler', detail: 'is euler, must be one of: lcm' }],
    }),
  );
});

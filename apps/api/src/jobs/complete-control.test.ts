import { type ControlRequest, parseRegistry, type TextToImageInput } from '@lehr/shared';
import { expect, test } from 'vitest';
import { completeControls } from './complete-control.ts';
import { completeInput } from './complete-input.ts';
import { priceOf } from './price.ts';
import { groupOf } from './resolve.ts';

const registry = parseRegistry(`models:
  - name: tiny
    task: diffusion
    versions: [{ version: "1", path: t }]
    controls: [{ name: edges, path: e, preprocess: canny }, { name: depth, path: d, preprocess: distance }, { name: pose, path: p }]
  - { name: plain, task: diffusion, versions: [{ version: "1", path: p }] }
  - { name: distance, aliases: [far], task: transform, result: mask, versions: [{ version: "1", path: a }, { version: "2", path: b, weight: 2 }] }
  - { name: lines, task: transform, result: picture, versions: [{ version: "1", path: l }] }`);
const { model, ref } = registry.resolve('diffusion', 'tiny', 0);
const image = 'https://x.example/a.png';
const completed = (...control: Partial<ControlRequest>[]) =>
  completeControls(
    registry,
    model,
    control.map((each) => ({ name: 'edges', image, ...each })),
  );

test('A control acts fully in all steps, with what its entry says makes its picture', () => {
  const whole = { scale: 1, start: 0, end: 1 };
  expect(completed({}, { name: 'depth' }, { name: 'pose' })).toEqual([
    { name: 'edges', ...whole, preprocess: 'canny' },
    { name: 'depth', ...whole, preprocess: 'distance@2' },
    { name: 'pose', ...whole },
  ]);
  expect(completed({ scale: 0.5, start: 0.1, end: 0.6, preprocess: 'none' }, { preprocess: 'far' })).toEqual([
    { name: 'edges', scale: 0.5, start: 0.1, end: 0.6 },
    { name: 'edges', ...whole, preprocess: 'distance@2' },
  ]);
  expect(completed()).toEqual([]);
});

test('What the model does not have is refused, and each field says what there is', () => {
  const wrong = [
    { name: 'scribble' },
    { start: 0.5, end: 0.5 },
    { preprocess: 'lines' },
    { preprocess: 'distance@1' },
  ];
  const preprocess = 'must be one of: none, canny, distance';
  expect(() => completed(...wrong)).toThrow(
    expect.objectContaining({
      code: 'invalid-input',
      problems: [
        { pointer: '/input/control/0/name', detail: 'must be one of: edges, depth, pose' },
        { pointer: '/input/control/1/end', detail: 'is 0.5, must be above start, which is 0.5' },
        { pointer: '/input/control/2/preprocess', detail: preprocess },
        { pointer: '/input/control/3/preprocess', detail: preprocess },
      ],
    }),
  );
  const { model: plain } = registry.resolve('diffusion', 'plain', 0);
  expect(() => completeControls(registry, plain, [{ name: 'edges', image }])).toThrow(
    'input.control.0.name cannot be used: plain has no ControlNets',
  );
});

test('A picture that is guided costs more, for the steps in which it is', () => {
  const input = completeInput({ prompt: 'x' }, model);
  const price = (control: Pick<NonNullable<TextToImageInput['control']>[number], 'start' | 'end'>[]) =>
    priceOf({ ...input, control }, groupOf(input, ref, []), []);
  const plain = price([]);
  const half = price([{ start: 0, end: 0.5 }]);
  const two = price([
    { start: 0, end: 1 },
    { start: 0, end: 1 },
  ]);
  expect(half / plain).toBeCloseTo(1.2, 3);
  expect(two / plain).toBeCloseTo(1.8, 3);
});

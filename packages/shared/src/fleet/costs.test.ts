import { expect, test } from 'vitest';
import { groupQueueName, parseGroupQueueName } from '../contracts/group.ts';
import { rowsOfTransform, scaledSize, sizeProblem } from '../contracts/picture-transform.ts';
import { parseRegistry } from '../models/registry.ts';
import { estimateTokens, speechCostMs, textCostMs, transformCostMs } from './costs.ts';

const QUEUE = 'whisper.base@1';
const lanes = [{ queue: QUEUE, row_steps_per_s: 5 }];

test('A recording costs the time that its seconds take at the measured speed', () => {
  expect(speechCostMs(60, QUEUE, lanes)).toBe(12_000);
});

test('A file of a second costs as much as one of ten, because the encoder reads a whole window of each', () => {
  expect(speechCostMs(10, QUEUE, lanes)).toBe(2_000);
  expect(speechCostMs(1, QUEUE, lanes)).toBe(2_000);
});

test('A text counts a token per four characters and two special ones, and token ids count as they are', () => {
  expect(estimateTokens(['abcde', { text: 'abcd', pair: 'abcd' }, [1, 2, 3]])).toBe(2 + 2 + 2 + 2 + 2 + 3);
});

test('A text job costs its tokens at the measured speed, and at least a millisecond', () => {
  expect(textCostMs(5000, 10_000)).toBe(500);
  expect(textCostMs(1, 10_000)).toBe(1);
});

test.each(['text', 'transform'] as const)(
  'All jobs of a model of the task %s wait in one group, whose name is read back',
  (task) => {
    const group = { task, model: { name: 'minilm', version: '1' } } as const;
    expect(groupQueueName(group)).toBe(`${task}.minilm@1`);
    expect(parseGroupQueueName(`${task}.minilm@1`)).toEqual(group);
  },
);

test('A transformed picture costs its tiles at the measured speed; a mask or a class is one row of any picture', () => {
  const size = { width: 1000, height: 257 };
  expect(transformCostMs(rowsOfTransform('picture', size), 4)).toBe(2500);
  expect(transformCostMs(rowsOfTransform('picture', size, 512), 4)).toBe(750);
  expect(transformCostMs(rowsOfTransform('mask', size), 4)).toBe(250);
  expect(rowsOfTransform('picture', { width: 1, height: 1 })).toBe(1);
});

test('A picture is refused when it has more pixels than its model takes, or would become one that no job makes', () => {
  const maxPixels = 4 * 1024 * 1024;
  expect(sizeProblem({ width: 2048, height: 2048 }, 4, maxPixels)).toBeUndefined();
  expect(sizeProblem({ width: 2049, height: 2048 }, 1, maxPixels)).toBe(
    'has 2049x2048 pixels; the model takes at most 4194304',
  );
  expect(sizeProblem({ width: 2048, height: 2048 }, 4.1, maxPixels)).toContain('would become 8397x8397');
  expect(scaledSize({ width: 3, height: 1 }, 0.1)).toEqual({ width: 1, height: 1 });
});

const registry = parseRegistry(`
models:
  - { name: minilm, task: text, tasks: [text-embedding], versions: [{ version: "1", path: a }] }
  - { name: bert, task: text, tasks: [fill-mask, text-embedding], versions: [{ version: "1", path: b }] }
`);

test('The default text model is the first one that runs jobs of the wanted type', () => {
  expect(registry.resolve('text', undefined, 0, 'text-embedding').ref.name).toBe('minilm');
  expect(registry.resolve('text', undefined, 0, 'fill-mask').ref.name).toBe('bert');
});

test('A text model that does not run jobs of the wanted type is not found, and those that do are named', () => {
  expect(() => registry.resolve('text', 'minilm', 0, 'fill-mask')).toThrow(
    expect.objectContaining({ code: 'model-not-found', message: expect.stringContaining('Offered: bert') }),
  );
});

test('A text model without tasks, and one that names a task twice, are refused with their place', () => {
  const withTasks = (tasks: string) => () =>
    parseRegistry(`models: [{ name: m, task: text, ${tasks} versions: [{ version: "1", path: a }] }]`);
  expect(withTasks('')).toThrow(/models\.0\.tasks/);
  expect(withTasks('tasks: [fill-mask, fill-mask],')).toThrow(/models\.0\.tasks: must name each task once/);
});

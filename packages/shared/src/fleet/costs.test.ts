import { expect, test } from 'vitest';
import { groupQueueName, parseGroupQueueName } from '../contracts/group.ts';
import { parseRegistry } from '../models/registry.ts';
import { estimateTokens, speechCostMs, textCostMs } from './costs.ts';

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

test('All jobs of a text model wait in one group, whose name is read back', () => {
  const group = { task: 'text', model: { name: 'minilm', version: '1' } } as const;
  expect(groupQueueName(group)).toBe('text.minilm@1');
  expect(parseGroupQueueName('text.minilm@1')).toEqual(group);
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

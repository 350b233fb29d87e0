import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeTinyDiffusion } from '@lehr/demo-models';
import {
  DATA_TYPE,
  encode,
  type NodeProto,
  readStoredModel,
  type StoredModel,
  withFileSource,
} from '@lehr/onnx-model';
import { expect, test } from 'vitest';
import { addResidualInputs } from './add-residual-inputs.ts';

const add = (output: string, ...input: string[]): NodeProto => ({
  opType: 'Add',
  name: output,
  input,
  output: [output],
});
const cast = (output: string, input: string, to: number): NodeProto => ({
  opType: 'Cast',
  name: output,
  input: [input],
  output: [output],
  attribute: [{ name: 'to', i: to }],
});
const concat = (output: string, hidden: string, skip: string, axis = 1): NodeProto => ({
  opType: 'Concat',
  name: output,
  input: [hidden, skip],
  output: [output],
  attribute: [{ name: 'axis', i: axis }],
});

/** Two down blocks, a middle one and two up blocks, and a Concat of what is no picture. */
const unet = (...more: readonly NodeProto[]): StoredModel => ({
  model: {},
  graph: {
    node: [
      concat('angles', 'sines', 'cosines'),
      add('first', 'sample', 'sample'),
      add('second', 'first', 'first'),
      add('middle', 'second', 'second'),
      concat('joined', 'middle', 'second'),
      add('up', 'joined', 'joined'),
      concat('joined_again', 'up', 'first', -3),
      ...more,
    ],
    input: [{ name: 'sample', type: { tensorType: { elemType: DATA_TYPE.float32 } } }],
    output: [],
  },
  initializers: [],
});

const nodeOf = ({ graph }: StoredModel, name: string) => graph.node?.find((node) => node.name === name);

test('The skips of the up blocks, the first down block first, and the result of the middle get an input each', () => {
  const stored = unet();
  expect(addResidualInputs(stored)).toEqual({ outcome: 'added', count: 3 });
  expect(nodeOf(stored, 'joined_again')?.input).toEqual(['up', 'lehr_control_0_sum']);
  expect(nodeOf(stored, 'joined')?.input).toEqual(['lehr_control_2_sum', 'lehr_control_1_sum']);
  expect(nodeOf(stored, 'lehr_control_2_add')?.input).toEqual(['middle', 'lehr_control_2']);
  // The way down is as it was.
  expect(nodeOf(stored, 'second')?.input).toEqual(['first', 'first']);
  expect(stored.graph.input?.map(({ name }) => name)).toEqual([
    'sample',
    ...[0, 1, 2].map((i) => `lehr_control_${i}`),
  ]);
});

test('Nodes stay in an order in which they can run', () => {
  const stored = unet();
  addResidualInputs(stored);
  const made = new Set(['sines', 'cosines', ...(stored.graph.input ?? []).map(({ name }) => name)]);
  for (const { name, input, output } of stored.graph.node ?? []) {
    expect([name, input?.filter((each) => !made.has(each))]).toEqual([name, []]);
    for (const each of output ?? []) made.add(each);
  }
});

test('An input has the type of the value to which it is added, also in a graph of two types', () => {
  const stored = unet();
  stored.graph.node?.splice(3, 1, cast('half', 'second', DATA_TYPE.float16), add('middle', 'half', 'half'));
  expect(addResidualInputs(stored).outcome).toBe('added');
  const types = stored.graph.input?.slice(1).map(({ type }) => type?.tensorType?.elemType);
  expect(types).toEqual([DATA_TYPE.float32, DATA_TYPE.float32, DATA_TYPE.float16]);
});

test('A graph whose up blocks join nothing is left as it is, with the reason', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'lehr-residuals-'));
  try {
    await writeTinyDiffusion(folder);
    const stored = withFileSource(join(folder, 'unet/model.onnx'), readStoredModel);
    const before = encode('GraphProto', stored.graph);
    const reason = expect.stringContaining('the unet graph joins no such values');
    expect(addResidualInputs(stored)).toEqual({ outcome: 'impossible', reason });
    expect(encode('GraphProto', stored.graph)).toEqual(before);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

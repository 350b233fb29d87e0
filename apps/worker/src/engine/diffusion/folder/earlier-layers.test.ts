import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  ATTRIBUTE_TYPE,
  DATA_TYPE,
  encode,
  type ModelProto,
  memorySource,
  type NodeProto,
  readStoredModel,
  type TensorProto,
  writeStoredModel,
} from '@lehr/onnx-model';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { onnxRuntime } from '../../runtime/onnx.ts';
import { floatValues } from '../../runtime/tensor.ts';
import { addEarlierLayers } from './earlier-layers.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'lehr-layers-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const WIDTH = 4;
const values = (length: number, phase: number) =>
  Float32Array.from({ length }, (_, i) => Math.sin(i * i * 0.7 + phase));

/** A text encoder as exporters of opset 14 write it: without an operator for the norm, and with an Identity at the end. */
function encoderOf(layers: number): Uint8Array {
  const node: NodeProto[] = [];
  const initializer: TensorProto[] = [];
  const add = (opType: string, input: string[], more: Partial<NodeProto> = {}): string => {
    const output = more.output?.[0] ?? `${opType}_${node.length}`;
    node.push({ opType, name: output, input, ...more, output: [output] });
    return output;
  };
  const weight = (name: string, dims: number[], data: Float32Array): string => {
    const isThere = initializer.some((each) => each.name === name);
    if (!isThere)
      initializer.push({ name, dims, dataType: DATA_TYPE.float32, rawData: new Uint8Array(data.buffer) });
    return name;
  };
  const meanOf = (value: string): string =>
    add('ReduceMean', [value], { attribute: [{ name: 'axes', type: ATTRIBUTE_TYPE.ints, ints: [-1] }] });
  const norm = (name: string, value: string): string => {
    const apart = add('Sub', [value, meanOf(value)]);
    const square = add('Pow', [apart, weight('two', [], Float32Array.of(2))]);
    const sum = add('Add', [meanOf(square), weight('epsilon', [], Float32Array.of(1e-5))]);
    const scaled = add('Mul', [
      add('Div', [apart, add('Sqrt', [sum])]),
      weight(`${name}.weight`, [WIDTH], values(WIDTH, name.length)),
    ]);
    return add('Add', [scaled, weight(`${name}.bias`, [WIDTH], values(WIDTH, name.length + 9))]);
  };
  let state = add('Add', ['x', weight('positions', [WIDTH], values(WIDTH, 3))]);
  for (let i = 0; i < layers; i++) {
    const matrix = weight(`matrix.${i}`, [WIDTH, WIDTH], values(WIDTH * WIDTH, i));
    state = add('Add', [state, add('MatMul', [norm(`first${i}`, state), matrix])]);
    state = add('Add', [add('Relu', [norm(`second.${i}`, state)]), state]);
  }
  add('Identity', [norm('final', state)], { output: ['last_hidden_state'] });
  const info = (name: string) => ({
    name,
    type: {
      tensorType: {
        elemType: DATA_TYPE.float32,
        shape: { dim: [{ dimParam: 'tokens' }, { dimValue: WIDTH }] },
      },
    },
  });
  const graph = {
    name: 'encoder',
    node,
    initializer,
    input: [info('x')],
    output: [info('last_hidden_state')],
  };
  const model: ModelProto = { irVersion: 7, opsetImport: [{ domain: '', version: 14 }], graph };
  return encode('ModelProto', model);
}

async function run(name: string, bytes: Uint8Array, output: string): Promise<Float32Array> {
  const path = join(folder, name);
  writeFileSync(path, bytes);
  const session = await onnxRuntime.load({ path }, { providers: ['cpu'], threads: 1 });
  const x = { type: 'float32', data: values(3 * WIDTH, 1), dims: [3, WIDTH] } as const;
  const results = await session.run({ x }, [output]);
  await session.close();
  return floatValues(results[output]).slice();
}

test('Each earlier layer of an encoder with norms of single operators is an output, as a shorter encoder ends', async () => {
  const source = memorySource(encoderOf(3));
  const stored = readStoredModel(source);
  const names = addEarlierLayers(stored, 'last_hidden_state');
  expect(names).toEqual(['last_hidden_state', 'lehr_layer.2', 'lehr_layer.3']);
  const bytes = writeStoredModel(stored, source);
  for (const [i, name] of (names ?? []).entries()) {
    const shorter = await run(`${3 - i}.onnx`, encoderOf(3 - i), 'last_hidden_state');
    const layer = await run('all.onnx', bytes, name);
    for (const [at, value] of layer.entries()) expect(value).toBeCloseTo(shorter[at], 5);
  }
});

test('A graph without layers stays as it is', () => {
  const stored = readStoredModel(memorySource(encoderOf(0)));
  const before = structuredClone(stored.graph);
  expect(addEarlierLayers(stored, 'last_hidden_state')).toBeUndefined();
  expect(stored.graph).toEqual(before);
});

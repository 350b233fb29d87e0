import { createHash } from 'node:crypto';
import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TinyDiffusionOptions, writeTinyDiffusion } from '@lehr/demo-models';
import { DATA_TYPE, decode, encode, type ModelProto } from '@lehr/onnx-model';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { onnxRuntime } from '../../runtime/onnx.ts';
import type { Tensor } from '../../runtime/tensor.ts';
import { rewireTimestep } from './rewire-unet.ts';

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'lehr-rewire-'));
  path = join(folder, 'unet/model.onnx');
});
afterEach(() => rmSync(folder, { recursive: true }));

const load = (bytes?: Uint8Array) =>
  onnxRuntime.load(bytes ? { path, bytes } : { path }, { providers: ['cpu'], threads: 1 });

function rewired(): { bytes: Uint8Array; nodes: readonly string[] } {
  const result = rewireTimestep(path);
  if (result.outcome !== 'rewired') throw new Error(`Wanted a rewired graph, got ${JSON.stringify(result)}.`);
  return result;
}

const floats = (dims: number[], phase: number): Tensor => ({
  type: 'float32',
  data: Float32Array.from({ length: dims.reduce((a, b) => a * b) }, (_, i) => Math.sin(i * 1.3 + phase)),
  dims,
});
const rowsOf = (batch: number, timestep: Tensor) => ({
  sample: floats([batch, 4, 8, 6], 0),
  timestep,
  encoder_hidden_states: floats([batch, 77, 32], 1),
});
const whole = (dims: number[], ...values: number[]): Tensor => ({
  type: 'int64',
  data: BigInt64Array.from(values, (value) => BigInt(value)),
  dims,
});
const fraction = (dims: number[], ...values: number[]): Tensor => ({
  type: 'float32',
  data: Float32Array.from(values),
  dims,
});

/** Changes the written UNet to what another exporter could have made. */
function edit(change: (model: ModelProto) => void): void {
  const model = decode('ModelProto', readFileSync(path));
  change(model);
  writeFileSync(path, encode('ModelProto', model));
}

const exports: readonly [string, TinyDiffusionOptions, readonly string[]][] = [
  ['axes as an input (opset 14)', { opset: 14, timestepType: 'float32' }, ['/Unsqueeze']],
  ['axes as an input (opset 17)', { opset: 17, timestepType: 'float32' }, ['/Unsqueeze']],
  ['axes as an attribute (opset 11)', { opset: 11, timestepType: 'float32' }, ['/Unsqueeze']],
  ['an Unsqueeze behind a Cast', { castTimestepFirst: true, timestepType: 'float32' }, ['/Unsqueeze']],
  ['the dimension "steps" of older exports', { timestepDims: ['steps'], timestepType: 'float32' }, []],
  ['a fixed size of 1', { timestepDims: [1], timestepType: 'float32' }, []],
];

test.each(exports)(
  'Each row has its own timestep, with the same bits as the scalar gives: %s',
  async (_name, options, nodes) => {
    await writeTinyDiffusion(folder, options);
    const { bytes, nodes: edited } = rewired();
    expect(edited).toEqual(nodes);
    const session = await load(bytes);
    expect(session.inputs[1]).toEqual({ name: 'timestep', type: 'float32', dims: ['batch_size'] });

    const original = await load();
    const scalarDims = options.timestepDims ? [1] : [];
    const mixed = await session.run(rowsOf(2, fraction([2], 901.5, 21)));
    for (const [row, timestep] of [901.5, 21].entries()) {
      const scalar = await original.run(rowsOf(2, fraction(scalarDims, timestep)));
      const rowLength = 4 * 8 * 6;
      const slice = ({ data }: Tensor) => data.slice(row * rowLength, (row + 1) * rowLength);
      expect(slice(mixed.out_sample)).toEqual(slice(scalar.out_sample));
    }
  },
);

test('A Reshape to [1] is replaced like an Unsqueeze', async () => {
  await writeTinyDiffusion(folder);
  edit(({ graph }) => {
    const lift = graph?.node?.find(({ name }) => name === '/Unsqueeze');
    if (lift) lift.opType = 'Reshape';
    // The axes 0 would be a shape [0]; the constant becomes the shape [1].
    const axes = graph?.node?.find(({ output }) => output?.[0] === lift?.input?.[1]);
    const tensor = axes?.attribute?.[0].t;
    if (tensor) tensor.rawData = new Uint8Array(BigInt64Array.of(1n).buffer);
  });
  const { bytes, nodes } = rewired();
  expect(nodes).toEqual(['/Unsqueeze']);
  const result = await (await load(bytes)).run(rowsOf(3, whole([3], 1, 500, 999)));
  expect(result.out_sample.dims).toEqual([3, 4, 8, 6]);
});

test('An axis that is an initializer counts as constant', async () => {
  await writeTinyDiffusion(folder);
  edit(({ graph }) => {
    graph?.initializer?.push({ name: 'axes', dims: [1], dataType: DATA_TYPE.int64, int64Data: [0] });
    const lift = graph?.node?.find(({ name }) => name === '/Unsqueeze');
    lift?.input?.splice(1, 1, 'axes');
  });
  expect(rewired().nodes).toEqual(['/Unsqueeze']);
});

test('Recorded shapes that depend on the timestep are dropped, and others are kept', async () => {
  await writeTinyDiffusion(folder);
  const note = (name: string) => ({
    name,
    type: { tensorType: { elemType: DATA_TYPE.int64, shape: { dim: [{ dimValue: 1 }] } } },
  });
  edit(({ graph }) => {
    if (graph) graph.valueInfo = [note('/Unsqueeze_output_0'), note('/Concat_output_0')];
  });
  const { bytes } = rewired();
  const names = decode('ModelProto', bytes).graph?.valueInfo?.map(({ name }) => name);
  expect(names).toEqual(['/Concat_output_0']);
  expect((await load(bytes)).inputs[1].dims).toEqual(['batch_size']);
});

test('A graph whose timestep is per row already is not changed', async () => {
  await writeTinyDiffusion(folder, { timestepDims: ['batch_size'] });
  expect(rewireTimestep(path)).toEqual({ outcome: 'as-is' });
});

const sha256OfFiles = () =>
  readdirSync(join(folder, 'unet')).map((name) => {
    const bytes = readFileSync(join(folder, 'unet', name));
    return [name, createHash('sha256').update(bytes).digest('hex')];
  });

test('Rewiring writes no file: the new bytes hold only the graph, and external weights are still found', async () => {
  await writeTinyDiffusion(folder, { externalData: true });
  const before = sha256OfFiles();
  const { bytes } = rewired();
  const result = await (await load(bytes)).run(rowsOf(2, whole([2], 3, 700)));
  expect(result.out_sample.data.every((value) => Number.isFinite(value))).toBe(true);
  expect(sha256OfFiles()).toEqual(before);
  expect(before.map(([name]) => name)).toEqual(['config.json', 'model.onnx', 'model.onnx_data']);
  expect(bytes.byteLength).toBeLessThan(readFileSync(path).byteLength + 100);
});

test.each([
  ['beside that of the timestep', {}],
  ['also where the timestep needs none', { timestepDims: ['batch_size'] }],
] as const)('A further change of the graph is made in the same bytes: %s', async (_name, options) => {
  await writeTinyDiffusion(folder, { ...options, timestepType: 'float32' });
  const result = rewireTimestep(path, [
    ({ graph }) => graph.output?.push({ ...graph.input?.[0], name: 'added' }),
  ]);
  const names = result.outcome === 'rewired' ? decode('ModelProto', result.bytes).graph?.output : undefined;
  expect(names?.map(({ name }) => name)).toEqual(['out_sample', 'added']);
});

const addNode = (node: object) => (model: ModelProto) => model.graph?.node?.unshift(node);

const impossible: readonly [string, (model: ModelProto) => void, string][] = [
  [
    'the scalar goes into arithmetic',
    addNode({ opType: 'Mul', name: '/Scale', input: ['timestep', 'timestep'], output: ['scaled'] }),
    'goes into the Mul /Scale',
  ],
  [
    'a subgraph looks at the scalar',
    addNode({
      opType: 'If',
      name: '/If',
      input: ['condition'],
      output: ['chosen'],
      attribute: [
        {
          name: 'then_branch',
          type: 5,
          g: { node: [{ opType: 'Neg', input: ['timestep'], output: ['n'] }] },
        },
      ],
    }),
    'a subgraph of /If uses "timestep"',
  ],
  [
    'the scalar is an output',
    (model) => model.graph?.output?.push({ name: 'timestep' }),
    '"timestep" is an output of the graph',
  ],
  [
    'two axes at once',
    addNode({
      opType: 'Unsqueeze',
      name: '/Twice',
      input: ['timestep'],
      output: ['twice'],
      attribute: [{ name: 'axes', type: 7, ints: [0, 1] }],
    }),
    'goes into the Unsqueeze /Twice',
  ],
  ['no timestep at all', (model) => model.graph?.input?.splice(1, 1), 'no input "timestep"'],
];

test.each(impossible)(
  'A graph that cannot be rewired is reported with the reason: %s',
  async (_name, change, reason) => {
    await writeTinyDiffusion(folder);
    edit(change);
    expect(rewireTimestep(path)).toEqual({ outcome: 'impossible', reason: expect.stringContaining(reason) });
  },
);

test('A graph that is a link to a file elsewhere, as in caches of the hub, keeps its weights', async () => {
  await writeTinyDiffusion(folder, { timestepType: 'float32' });
  const elsewhere = mkdtempSync(join(tmpdir(), 'lehr-blobs-'));
  try {
    const feeds = rowsOf(2, fraction([], 21));
    const expected = await (await load()).run(feeds);
    renameSync(path, join(elsewhere, 'blob'));
    symlinkSync(join(elsewhere, 'blob'), path);
    const session = await load(rewired().bytes);
    const results = await session.run({ ...feeds, timestep: fraction([2], 21, 21) });
    expect(results.out_sample.data).toEqual(expected.out_sample.data);
  } finally {
    rmSync(elsewhere, { recursive: true });
  }
});

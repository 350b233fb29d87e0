/** Graphs with the operators that only CUDA has: ONNX Runtime accepts their form on any machine, and a reference computes their values. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readGraph, weightsPlace } from '../../apps/worker/src/engine/runtime/external-data.ts';
import { onnxRuntime } from '../../apps/worker/src/engine/runtime/onnx.ts';
import type { ValueInfo } from '../../apps/worker/src/engine/runtime/runtime.ts';
import {
  elementCount,
  floatValues,
  largestDifference,
  type Tensor,
} from '../../apps/worker/src/engine/runtime/tensor.ts';
import { buildFullUnet } from '../../lab/device/full-unet.ts';
import { SharedWeights, WEIGHTS_FILE } from '../../lab/device/shared-weights.ts';
import {
  ATTRIBUTE_TYPE,
  DATA_TYPE,
  decode,
  encode,
  findAttentions,
  fuseAttentions,
  fuseForCuda,
  type ModelProto,
  type NodeProto,
  type TensorProto,
  toNumber,
  withFileSource,
  writeStoredModel,
} from '../../packages/onnx-model/src/index.ts';
import { unpackFixture } from '../support/diffusion-fixtures.ts';
import { evaluateGraph } from '../support/evaluate-graph.ts';
import { tempFolder } from '../support/tiny-models.ts';

const CPU = { providers: ['cpu'], threads: 1, fuses: false } as const;

function fused(path: string) {
  const stored = readGraph({ path });
  const written = Object.fromEntries(
    Object.entries(fuseForCuda(stored)).map(([operator, names]) => [operator, new Set(names).size]),
  );
  const bytes = withFileSource(path, (file) => writeStoredModel(stored, file, weightsPlace(path)));
  return { bytes, written };
}

/** Runs the graph as exported and evaluates it fused, on the same inputs. Returns how many nodes of each operator were written. */
async function expectSameValues(path: string, size = 8): Promise<Record<string, number>> {
  const session = await onnxRuntime.load({ path }, CPU);
  const feeds = Object.fromEntries(session.inputs.map((input, i) => [input.name, anyTensor(input, size, i)]));
  const [[name, exported]] = Object.entries(await session.run(feeds));
  await session.close();
  const { bytes, written } = fused(path);
  const found = (await evaluateGraph(bytes, path, feeds)).get(name);
  if (!found) throw new Error(`nothing made ${name}`);
  const wanted = floatValues(exported);
  const largest = wanted.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  expect(largestDifference(wanted, floatValues(found)) / largest).toBeLessThan(1e-5);
  return written;
}

/** Two rows, and this size where another one is free. */
function anyTensor({ type, dims }: ValueInfo, size: number, phase: number): Tensor {
  const sizes = dims.map((dim, axis) => (typeof dim === 'number' ? dim : axis === 0 ? 2 : size));
  const length = elementCount(sizes);
  if (type === 'int64') return { type, data: new BigInt64Array(length).fill(500n), dims: sizes };
  const data = Float32Array.from({ length }, (_, i) => Math.sin(i * i * 0.7 + i + phase));
  return { type: 'float32', data, dims: sizes };
}

/** Of a graph that only lacks kernels: its operators, attributes and types are as ONNX Runtime wants them. */
const NO_KERNEL = /Could not find an implementation for|Failed to find kernel for/;

const openOnCpu = (path: string, bytes: Uint8Array) => onnxRuntime.load({ path, bytes }, CPU);

test('A UNet as wide as that of Stable Diffusion has every operator of CUDA, and the values of the graph as exported', {
  tags: ['long'],
}, async () => {
  const folder = await tempFolder('cuda');
  const weights = new SharedWeights('float32', 640 * 320 * 9);
  const path = join(folder, 'unet.onnx');
  await writeFile(path, buildFullUnet('float32', weights, [320, 320]));
  await weights.write(join(folder, WEIGHTS_FILE));
  expect(await expectSameValues(path, 4)).toEqual({
    GroupNorm: 8,
    SkipGroupNorm: 23,
    NhwcConv: 46,
    BiasSplitGelu: 6,
    BiasAdd: 6,
    SkipLayerNormalization: 12,
  });
  await expect(openOnCpu(path, fused(path).bytes)).rejects.toThrow(NO_KERNEL);
});

// Too narrow for BiasSplitGelu and BiasAdd; in opset 14, a LayerNormalization is many nodes.
const UNET = { GroupNorm: 16, SkipGroupNorm: 45, NhwcConv: 97 };
const NORMS = { SkipLayerNormalization: 32 };

/** The newest exporter and the oldest one run always, the others in the long tests. */
const EXPORTERS: [string, Record<string, number>][] = [
  ['sd15-dynamo-21-rows', { ...UNET, ...NORMS }],
  ['sd15-torchscript-14', UNET],
];
const BETWEEN: typeof EXPORTERS = [
  ['sd15', { ...UNET, ...NORMS }],
  ['sd15-dynamo-18', { ...UNET, ...NORMS }],
];

const EXPORTED =
  'UNet and decoder of %s have the operators of CUDA, and the values of the graphs as exported';
test.each(EXPORTERS)(EXPORTED, expectOperators);
test.each(BETWEEN)(EXPORTED, { tags: ['long'] }, expectOperators);

async function expectOperators(name: string, wanted: Record<string, number>): Promise<void> {
  const folder = await tempFolder('cuda');
  unpackFixture(name, folder);
  const [unet, decoder] = ['unet', 'vae_decoder'].map((graph) => join(folder, graph, 'model.onnx'));
  expect(await expectSameValues(unet)).toEqual(wanted);
  expect(await expectSameValues(decoder)).toEqual({ GroupNorm: 19, SkipGroupNorm: 10, NhwcConv: 35 });
  for (const path of [unet, decoder])
    await expect(openOnCpu(path, fused(path).bytes)).rejects.toThrow(NO_KERNEL);
}

test('In half precision, the operators of CUDA have the types that ONNX Runtime wants', async () => {
  const folder = await tempFolder('cuda');
  unpackFixture('sd15-fp16', folder);
  const path = join(folder, 'unet/model.onnx');
  const { bytes, written } = fused(path);
  expect(written).toEqual({ ...UNET, ...NORMS });
  await expect(openOnCpu(path, bytes)).rejects.toThrow(NO_KERNEL);
});

test.each([
  [
    'with the factors in the order of the dynamo exporter',
    18,
    [
      'Div right root erf.x',
      'Erf erf.x erf',
      'Add erf one erf.1',
      'Mul half erf.1 share',
      'Mul right share gelu',
    ],
  ],
  ['as one operator', 21, ['Gelu right gelu']],
])('A gate of two halves of a Split, with a GELU %s, becomes BiasSplitGelu', async (_, opset, gelu) => {
  const path = join(await tempFolder('cuda'), 'gate.onnx');
  const weight = (name: string, dims: number[], values: ArrayLike<number>) => ({
    name,
    dims,
    dataType: DATA_TYPE.float32,
    floatData: Array.from(values),
  });
  const image = (name: string) => ({
    name,
    type: {
      tensorType: {
        elemType: DATA_TYPE.float32,
        shape: { dim: [{ dimParam: 'rows' }, { dimParam: 'tokens' }, { dimValue: name === 'x' ? 4 : 1280 }] },
      },
    },
  });
  const steps = ['MatMul x matrix product', 'Add product bias whole', ...gelu, 'Mul left gelu result'];
  const nodes = steps.map((step): NodeProto => {
    const [opType, ...values] = step.split(' ');
    return { opType, name: step, input: values.slice(0, -1), output: values.slice(-1) };
  });
  const split = {
    opType: 'Split',
    name: 'split',
    input: ['whole'],
    output: ['left', 'right'],
    attribute: ['axis', 'num_outputs'].map((name) => ({ name, type: ATTRIBUTE_TYPE.int, i: 2 })),
  };
  const wave = (length: number) => Float32Array.from({ length }, (__, i) => Math.sin(i * i * 0.7 + i));
  const graph = {
    name: 'gate',
    node: [...nodes.slice(0, 2), split, ...nodes.slice(2)],
    input: [image('x')],
    output: [image('result')],
    initializer: [
      weight('matrix', [4, 2560], wave(4 * 2560)),
      weight('bias', [2560], wave(2560)),
      weight('root', [], [Math.SQRT2]),
      weight('one', [], [1]),
      weight('half', [], [0.5]),
    ],
  };
  await writeFile(
    path,
    encode('ModelProto', { irVersion: 8, opsetImport: [{ domain: '', version: opset }], graph }),
  );
  expect(await expectSameValues(path)).toEqual({ BiasSplitGelu: 1 });
});

test('A node that is not of the form that ONNX Runtime wants is refused for that, not for a kernel that lacks', async () => {
  const folder = await tempFolder('cuda');
  unpackFixture('sd15', folder);
  const path = join(folder, 'vae_decoder/model.onnx');
  const model = decode('ModelProto', fused(path).bytes);
  const norm = model.graph?.node?.find(({ opType }) => opType === 'GroupNorm');
  if (norm) norm.attribute = norm.attribute?.filter(({ name }) => name !== 'groups');
  await expect(openOnCpu(path, encode('ModelProto', model))).rejects.toThrow(/groups/);
});

/** Operators that the CPU has, and whose layout ONNX Runtime does not know either, in the place of those of CUDA. */
function withStandIns({ graph, ...model }: ModelProto): Uint8Array {
  const weights = new Map(graph?.initializer?.map(({ name, dims }) => [name, dims?.map(toNumber) ?? []]));
  const produced = new Map(graph?.node?.map((each) => [each.output?.[0], each]));
  const added: TensorProto[] = [];
  const of = (opType: string, input: string[], output: string, attribute: NodeProto['attribute'] = []) => ({
    opType,
    name: output,
    input,
    output: [output],
    attribute,
  });
  const size = [{ name: 'size', type: ATTRIBUTE_TYPE.int, i: 1 }];
  const equation = [{ name: 'equation', type: ATTRIBUTE_TYPE.string, s: Buffer.from('nhwc,co->nhwo') }];
  const node = (graph?.node ?? []).flatMap((each): NodeProto[] => {
    const [x = '', weight = '', , skip = ''] = each.input ?? [];
    const [result = '', sum = ''] = each.output ?? [];
    if (each.opType === 'GroupNorm') return [of('LRN', [x], result, size)];
    if (each.opType === 'SkipGroupNorm') {
      // Of a skip with two dimensions, the sum is not the CPU's addition: it is left out.
      const terms = produced.get(skip)?.opType === 'Transpose' ? [x, skip] : [x];
      return [of(terms.length === 2 ? 'Add' : 'Identity', terms, sum), of('LRN', [sum], result, size)];
    }
    if (each.opType !== 'NhwcConv') return [each];
    const [to, from] = weights.get(produced.get(weight)?.input?.[0] ?? '') ?? [];
    const floatData = Array.from({ length: from * to }, () => 1);
    added.push({ name: `${result}.weight`, dims: [from, to], dataType: DATA_TYPE.float32, floatData });
    return [of('Einsum', [x, `${result}.weight`], result, equation)];
  });
  const initializer = [...(graph?.initializer ?? []), ...added];
  return encode('ModelProto', { ...model, graph: { ...graph, node, initializer, valueInfo: [] } });
}

test('ONNX Runtime takes out all Transposes around the operators of CUDA but those of the input and the output of a UNet', async () => {
  const folder = await tempFolder('cuda');
  unpackFixture('sd15', folder);
  const path = join(folder, 'unet/model.onnx');
  const stored = readGraph({ path });
  fuseAttentions(stored, findAttentions(stored).found);
  fuseForCuda(stored);
  const bytes = withFileSource(path, (file) => writeStoredModel(stored, file));
  const saveOptimized = join(folder, 'optimized.onnx');
  const standing = { path, bytes: withStandIns(decode('ModelProto', bytes)) };
  await (await onnxRuntime.load(standing, { ...CPU, optimization: 'extended', saveOptimized })).close();
  const transposes = (await readFile(saveOptimized).then((file) => decode('ModelProto', file))).graph?.node
    ?.filter(({ opType }) => opType === 'Transpose')
    .map(({ attribute }) => attribute?.[0]?.ints?.map(toNumber).join(''));
  expect(transposes).toEqual(['0231', '0312']);
});

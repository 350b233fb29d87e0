import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeTinyDiffusion } from '@lehr/demo-models';
import {
  ATTRIBUTE_TYPE,
  DATA_TYPE,
  EXTERNAL,
  encode,
  type GraphProto,
  type TensorProto,
} from '@lehr/onnx-model';
import { LehrError } from '@lehr/shared';
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { withExactBranches } from './exact-int8.ts';
import { isOutOfMemory, onnxRuntime } from './onnx.ts';
import { missingLibrary } from './provider-library.ts';
import type { Tensor } from './tensor.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'lehr-onnx-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const CPU = { providers: ['cpu'] } as const;

const shaped = (name: string, elemType: number, dims: readonly (number | string)[]) => ({
  name,
  type: {
    tensorType: {
      elemType,
      shape: { dim: dims.map((dim) => (typeof dim === 'number' ? { dimValue: dim } : { dimParam: dim })) },
    },
  },
});

function writeModel(graph: GraphProto): string {
  const path = join(folder, 'model.onnx');
  const model = {
    irVersion: 8,
    opsetImport: [{ domain: '', version: 14 }],
    graph: { name: 'test', ...graph },
  };
  writeFileSync(path, encode('ModelProto', model));
  return path;
}

/** A graph from `shape`, `[rank]`, to a tensor of zeros of that shape. */
const zeros: GraphProto = {
  node: [{ opType: 'ConstantOfShape', input: ['shape'], output: ['zeros'] }],
  input: [shaped('shape', DATA_TYPE.int64, ['rank'])],
  output: [shaped('zeros', DATA_TYPE.float32, ['a', 'b'])],
};

const int64 = (...values: bigint[]): Tensor => ({
  type: 'int64',
  data: BigInt64Array.from(values),
  dims: [values.length],
});

test('A session lists its inputs and outputs as the graph declares them', async () => {
  await writeTinyDiffusion(folder, { dtype: 'float16', timestepType: 'int64' });
  const session = await onnxRuntime.load({ path: join(folder, 'unet/model.onnx') }, CPU);
  expect(session.provider).toBe('cpu');
  expect(session.inputs).toEqual([
    { name: 'sample', type: 'float16', dims: ['batch_size', 4, 'height', 'width'] },
    { name: 'timestep', type: 'int64', dims: [] },
    { name: 'encoder_hidden_states', type: 'float16', dims: ['batch_size', 'sequence_length', 32] },
  ]);
  expect(session.outputs).toEqual([
    { name: 'out_sample', type: 'float16', dims: ['batch_size', 4, 'height', 'width'] },
  ]);
  await session.close();
});

test('Half precision goes in and out as raw bits', async () => {
  const path = writeModel({
    node: [{ opType: 'Neg', input: ['x'], output: ['y'] }],
    input: [shaped('x', DATA_TYPE.float16, ['n'])],
    output: [shaped('y', DATA_TYPE.float16, ['n'])],
  });
  const session = await onnxRuntime.load({ path }, CPU);
  const { y } = await session.run({
    x: { type: 'float16', data: Uint16Array.of(0x3c00, 0xc000), dims: [2] },
  });
  expect(y).toEqual({ type: 'float16', data: Uint16Array.of(0xbc00, 0x4000), dims: [2] });
});

test('A graph with bool and int32 tensors runs', async () => {
  const path = writeModel({
    node: [
      { opType: 'Not', input: ['flag'], output: ['opposite'] },
      {
        opType: 'Cast',
        input: ['flag'],
        output: ['number'],
        attribute: [{ name: 'to', type: 2, i: DATA_TYPE.int32 }],
      },
    ],
    input: [shaped('flag', DATA_TYPE.bool, ['n'])],
    output: [shaped('opposite', DATA_TYPE.bool, ['n']), shaped('number', DATA_TYPE.int32, ['n'])],
  });
  const session = await onnxRuntime.load({ path }, CPU);
  const feeds = { flag: { type: 'bool', data: Uint8Array.of(1, 0), dims: [2] } } as const;
  expect(await session.run(feeds)).toEqual({
    opposite: { type: 'bool', data: Uint8Array.of(0, 1), dims: [2] },
    number: { type: 'int32', data: Int32Array.of(1, 0), dims: [2] },
  });
  expect(Object.keys(await session.run(feeds, ['number']))).toEqual(['number']);
});

test('A product with int8 weights of their whole range is exact on every processor, alone and inside a branch', async () => {
  const inner = 64;
  const weights = Int8Array.from({ length: inner }, (_, i) => (i % 3 ? 127 : -128));
  const values = Uint8Array.from({ length: inner }, (_, i) => 255 - i);
  const exact = weights.reduce((sum, weight, i) => sum + weight * values[i], 0);
  const constants: TensorProto[] = [
    { name: 'w', dataType: DATA_TYPE.int8, dims: [inner, 1], rawData: new Uint8Array(weights.buffer) },
    { name: 'none', dataType: DATA_TYPE.uint8, dims: [], rawData: Uint8Array.of(0) },
    { name: 'zero', dataType: DATA_TYPE.int8, dims: [], rawData: Uint8Array.of(0) },
  ];
  const product = (output: string, zero = 'zero') => ({
    opType: 'MatMulInteger',
    input: ['q', 'w', 'none', zero],
    output: [output],
  });
  // As Optimum merges decoders: the weights of the branches are outside, their zero points inside.
  const branch = (name: string) => ({
    name,
    type: ATTRIBUTE_TYPE.graph,
    g: {
      name,
      node: [product(name, `${name}.zero`)],
      initializer: [{ name: `${name}.zero`, dataType: DATA_TYPE.int8, dims: [], int32Data: [0] }],
      output: [shaped(name, DATA_TYPE.int32, [1, 1])],
    },
  });
  const path = writeModel({
    node: [
      {
        opType: 'Cast',
        input: ['x'],
        output: ['q'],
        attribute: [{ name: 'to', type: 2, i: DATA_TYPE.uint8 }],
      },
      product('alone'),
      {
        opType: 'If',
        input: ['flag'],
        output: ['branched'],
        attribute: [branch('then_branch'), branch('else_branch')],
      },
    ],
    initializer: constants,
    input: [shaped('x', DATA_TYPE.int32, [1, inner]), shaped('flag', DATA_TYPE.bool, [1])],
    output: [shaped('alone', DATA_TYPE.int32, [1, 1]), shaped('branched', DATA_TYPE.int32, [1, 1])],
  });
  const feeds = {
    x: { type: 'int32', data: Int32Array.from(values), dims: [1, inner] },
    flag: { type: 'bool', data: Uint8Array.of(1), dims: [1] },
  } as const;
  const bytes = await readFile(path);
  // As the processor of this machine needs them, and as one without VNNI does.
  for (const source of [
    { path },
    withExactBranches({ path }, true),
    withExactBranches({ path, bytes }, true),
  ]) {
    const session = await onnxRuntime.load(source, CPU);
    const { alone, branched } = await session.run(feeds);
    expect([alone.data[0], branched.data[0]]).toEqual([exact, exact]);
  }
});

test('External weights are found beside the graph, when it is loaded from its path and from its bytes', async () => {
  await writeTinyDiffusion(folder, { externalData: true });
  const path = join(folder, 'vae_decoder/model.onnx');
  const feeds = {
    latent_sample: { type: 'float32', data: new Float32Array(64).fill(0.5), dims: [1, 4, 4, 4] },
  } as const;
  const fromPath = await (await onnxRuntime.load({ path }, CPU)).run(feeds);
  const fromBytes = await (await onnxRuntime.load({ path, bytes: await readFile(path) }, CPU)).run(feeds);
  expect(fromPath.sample.dims).toEqual([1, 3, 32, 32]);
  expect(fromBytes).toEqual(fromPath);
});

const hasCuda = missingLibrary('cuda') === undefined;

test.skipIf(hasCuda)(
  'A session for a GPU that is not installed is refused with the reason and never runs on the CPU instead',
  async () => {
    const path = writeModel(zeros);
    const refusal = await onnxRuntime
      .load({ path }, { providers: ['cuda', 'tensorrt'] })
      .catch((error) => error);
    expect(refusal).toBeInstanceOf(LehrError);
    expect(refusal.code).toBe('model-unavailable');
    expect(refusal.message).toMatch(/cuda: .*not installed.*tensorrt: .*not installed/);
  },
);

test.skipIf(hasCuda)(
  'A session uses the next provider of the list and reports why the first one was not used',
  async () => {
    const session = await onnxRuntime.load({ path: writeModel(zeros) }, { providers: ['cuda', 'cpu'] });
    expect(session.provider).toBe('cpu');
    expect(session.refusals).toEqual([expect.stringMatching(/^cuda: its library .* is not installed$/)]);
  },
);

test('An empty list of providers is refused', async () => {
  const load = onnxRuntime.load({ path: writeModel(zeros) }, { providers: [] });
  await expect(load).rejects.toThrow('no provider was asked for');
});

test('The first run reports where the nodes ran, and leaves no file behind', async () => {
  // Profiles are written to the temporary folder: in a separate one, files of other tests are not counted.
  vi.stubEnv('TMPDIR', folder);
  onTestFinished(() => void vi.unstubAllEnvs());
  const session = await onnxRuntime.load({ path: writeModel(zeros) }, { ...CPU, reportPlacement: true });
  expect(session.placement).toBeUndefined();
  await session.run({ shape: int64(1n, 2n) });
  expect(session.placement).toEqual({ cpu: 1 });
  await session.run({ shape: int64(1n, 2n) });
  expect(session.placement).toEqual({ cpu: 1 });
  expect(readdirSync(folder)).toEqual(['model.onnx']);
});

test('Wrong feeds are refused with name, type and shape before the run', async () => {
  await writeTinyDiffusion(folder);
  const session = await onnxRuntime.load({ path: join(folder, 'unet/model.onnx') }, CPU);
  const feeds = {
    sample: { type: 'float32', data: new Float32Array(4), dims: [1, 5, 1, 1] },
    encoder_hidden_states: { type: 'float32', data: new Float32Array(31), dims: [1, 1, 32] },
    timesteps: int64(1n),
  } as const;
  const error = await session.run(feeds).catch((reason) => reason);
  expect(error.code).toBe('engine-failed');
  expect(error.message).toContain('no input is called "timesteps"');
  expect(error.message).toContain(
    'input "sample" came as float32 [1, 5, 1, 1], wanted float32 [batch_size, 4, height, width]',
  );
  expect(error.message).toContain('input "timestep" is missing, wanted int64 []');
  expect(error.message).toContain('input "encoder_hidden_states" came as float32 [1, 1, 32] with 31 values');
});

/** vm.overcommit_memory=1, as a kubelet sets it: the system promises any memory, and ends a process that uses it. */
const PROMISES = '/proc/sys/vm/overcommit_memory';
const promisesAny = existsSync(PROMISES) && readFileSync(PROMISES, 'utf8').trim() === '1';

test.skipIf(promisesAny)(
  'A tensor that does not fit into memory is out-of-memory, and the session still works',
  async () => {
    const session = await onnxRuntime.load({ path: writeModel(zeros) }, CPU);
    // It holds as much address space as the system gave, with which this process could start no other.
    onTestFinished(() => session.close());
    await expect(session.run({ shape: int64(1_000_000n, 1_000_000n) })).rejects.toMatchObject({
      code: 'out-of-memory',
    });
    expect((await session.run({ shape: int64(1n, 2n) })).zeros.dims).toEqual([1, 2]);
  },
);

test('A node that fails is engine-failed, and the message names the graph', async () => {
  const path = writeModel(zeros);
  const session = await onnxRuntime.load({ path }, CPU);
  const error = await session.run({ shape: int64(-5n, 2n) }).catch((reason) => reason);
  expect(error).toMatchObject({ code: 'engine-failed' });
  expect(error.message).toContain(path);
  expect(error.cause).toBeInstanceOf(Error);
});

test('A closed session refuses to run, and can be closed twice', async () => {
  const session = await onnxRuntime.load({ path: writeModel(zeros) }, CPU);
  await session.close();
  await session.close();
  await expect(session.run({ shape: int64(1n) })).rejects.toThrow('was closed');
});

test('A missing or invalid model file is model-unavailable, with its path', async () => {
  const missing = join(folder, 'none.onnx');
  await expect(onnxRuntime.load({ path: missing }, CPU)).rejects.toMatchObject({
    code: 'model-unavailable',
    message: expect.stringContaining(missing),
  });
  const path = join(folder, 'text.onnx');
  writeFileSync(path, 'certainly not a protobuf message');
  await expect(onnxRuntime.load({ path }, CPU)).rejects.toMatchObject({ code: 'model-unavailable' });
});

test('An input of an unsupported type is refused at load', async () => {
  const path = writeModel({
    node: [{ opType: 'Identity', input: ['x'], output: ['y'] }],
    input: [shaped('x', DATA_TYPE.uint8, ['n'])],
    output: [shaped('y', DATA_TYPE.uint8, ['n'])],
  });
  await expect(onnxRuntime.load({ path }, CPU)).rejects.toThrow('"x" is of type uint8');
});

const externalTensor = (location: string): TensorProto => ({
  name: 'w',
  dims: [4],
  dataType: DATA_TYPE.float32,
  dataLocation: EXTERNAL,
  externalData: [{ key: 'location', value: location }],
});

const leaking: readonly [string, string, (location: string) => GraphProto][] = [
  ['an initializer', '../secret', (location) => ({ initializer: [externalTensor(location)] })],
  ['an initializer', '/etc/passwd', (location) => ({ initializer: [externalTensor(location)] })],
  ['an initializer', 'C:\\secret', (location) => ({ initializer: [externalTensor(location)] })],
  ['an initializer', '*/_ORT_MEM_ADDR_/*', (location) => ({ initializer: [externalTensor(location)] })],
  ['an initializer', '', (location) => ({ initializer: [externalTensor(location)] })],
  [
    'an initializer',
    `${'a/'.repeat(2100)}../..`,
    (location) => ({ initializer: [externalTensor(location)] }),
  ],
  ['an initializer', 'inside/../../secret', (location) => ({ initializer: [externalTensor(location)] })],
  [
    'a sparse initializer',
    '..\\secret',
    (location) => ({ sparseInitializer: [{ values: externalTensor(location), dims: [4] }] }),
  ],
  [
    'a Constant inside a branch',
    '../../secret',
    (location) => {
      const constant = {
        opType: 'Constant',
        output: ['w'],
        attribute: [{ name: 'value', type: 4, t: externalTensor(location) }],
      };
      const branch = { name: 'then_branch', type: 5, g: { name: 'branch', node: [constant] } };
      return { node: [{ opType: 'If', input: ['x'], output: ['y'], attribute: [branch] }] };
    },
  ],
];

test.each(leaking)(
  'A model that names a file outside of its folder is refused: case %#, %s',
  async (_where, location, graph) => {
    const path = writeModel(graph(location));
    await expect(onnxRuntime.load({ path }, CPU)).rejects.toMatchObject({
      code: 'model-unavailable',
      message: expect.stringContaining(JSON.stringify(location)),
    });
    const bytes = await readFile(path);
    await expect(onnxRuntime.load({ path, bytes }, CPU)).rejects.toThrow('outside its folder');
  },
);

/** Names of states as the libraries of CUDA 13 and cuDNN 9.28 contain them, in the sentence of ONNX Runtime's CUDA provider. */
const cudaFailure = (library: string, state: string): string =>
  `Non-zero status code returned while running Conv node. Name:'/conv_in/Conv' Status Message: ${library} failure 1: ${state} ; ` +
  'GPU=0 ; hostname=vm ; file=/onnxruntime_src/onnxruntime/core/providers/cuda/nn/conv.cc ; line=1 ; expr=run(handle);';

test.each([
  ['the arena', 'Failed to allocate memory for requested buffer of size 1099511627776'],
  ['the C++ library', 'std::bad_alloc'],
  ['CUDA', cudaFailure('CUDA', 'out of memory')],
  ['cuBLAS', cudaFailure('CUBLAS', 'CUBLAS_STATUS_ALLOC_FAILED')],
  ['cuDNN 9, on the card', cudaFailure('CUDNN', 'CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED')],
  ['cuDNN 9, in main memory', cudaFailure('CUDNN', 'CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED')],
  ['Vulkan', 'vkAllocateMemory failed with VK_ERROR_OUT_OF_DEVICE_MEMORY'],
  [
    'WebGPU, for a buffer that is too large',
    'WebGPU validation failed. Buffer size (2147483648) exceeds the max buffer size limit (1073741824).',
  ],
  [
    'WebGPU, after a buffer got no memory',
    'WebGPU validation failed. [Invalid Buffer (unlabeled)] is invalid due to a previous error.\n - While validating entries[1]',
  ],
])('Running out of memory is recognised in the words of %s', (_library, message) => {
  expect(isOutOfMemory(message)).toBe(true);
});

test.each([
  [
    'a driver that is too old',
    cudaFailure('CUDA', 'CUDA driver version is insufficient for CUDA runtime version'),
  ],
  ['a kernel that read outside its memory', cudaFailure('CUDA', 'an illegal memory access was encountered')],
  ['a kernel that failed', cudaFailure('CUDNN', 'CUDNN_STATUS_EXECUTION_FAILED')],
  ['an invalid shader', '[Invalid ShaderModule (unlabeled)] is invalid due to a previous error.'],
])('%s is not taken for running out of memory', (_fault, message) => {
  expect(isOutOfMemory(message)).toBe(false);
});

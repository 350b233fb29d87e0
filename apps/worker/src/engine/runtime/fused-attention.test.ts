import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ATTRIBUTE_TYPE, DATA_TYPE, encode, type NodeProto } from '@lehr/onnx-model';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type RunModel, withFusedAttention } from './fused-attention.ts';
import { onnxRuntime } from './onnx.ts';
import type { RuntimeSession } from './runtime.ts';
import { elementCount, floatTensor, floatValues, largestDifference, type Tensor } from './tensor.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'lehr-fused-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const CPU = { providers: ['cpu'], threads: 1 } as const;
const [ROWS, TOKENS, HEADS, SIZE] = [3, 5, 2, 4];
const WIDTH = HEADS * SIZE;

interface Written {
  /** Dimensions of the mask, or none. */
  readonly mask?: readonly number[];
  readonly type?: 'float32' | 'float16';
  /** What the Softmax's result goes through before the values are multiplied. */
  readonly after?: 'Identity';
  /** The order in which the queries are turned. */
  readonly order?: readonly number[];
  /** The weights are an output of the graph too. */
  readonly showsWeights?: boolean;
  /** The shapes of the Reshapes to heads and back. */
  readonly shapes?: readonly [apart: readonly number[], together: readonly number[]];
  /** Of ONNX, 17 when absent. */
  readonly opset?: number;
  /** The Softmax has no axis. */
  readonly hasNoAxis?: boolean;
}

/** Self-attention of `x`, [rows, tokens, width], as an exporter writes it. Returns its path. */
function writeAttention({
  mask,
  type = 'float32',
  after,
  order = [0, 2, 1, 3],
  showsWeights,
  opset = 17,
  hasNoAxis = false,
  shapes = [
    [0, 0, HEADS, SIZE],
    [0, 0, WIDTH],
  ],
}: Written): string {
  const elemType = DATA_TYPE[type];
  const shaped = (name: string, dims: readonly (number | string)[], of: number = elemType) => ({
    name,
    type: {
      tensorType: {
        elemType: of,
        shape: { dim: dims.map((dim) => (typeof dim === 'number' ? { dimValue: dim } : { dimParam: dim })) },
      },
    },
  });
  const ints = (name: string, values: readonly number[]) => ({
    name,
    type: ATTRIBUTE_TYPE.ints,
    ints: [...values],
  });
  const nodeOf = (
    opType: string,
    input: string[],
    output: string,
    attribute: NodeProto['attribute'] = [],
  ) => ({
    opType,
    name: output,
    input,
    output: [output],
    attribute,
  });
  const turned = (name: string, perm: readonly number[]) => [
    nodeOf('Reshape', [name, 'apart'], `${name}.heads`),
    nodeOf('Transpose', [`${name}.heads`], `${name}.turned`, [ints('perm', perm)]),
  ];
  const node = [
    ...turned('queries', order),
    ...turned('keys', [0, 2, 3, 1]),
    ...turned('values', [0, 2, 1, 3]),
    nodeOf('Mul', ['queries.turned', 'scale'], 'queries.scaled'),
    nodeOf('MatMul', ['queries.scaled', 'keys.turned'], 'scores'),
    ...(mask ? [nodeOf('Add', ['scores', 'mask'], 'masked')] : []),
    nodeOf(
      'Softmax',
      [mask ? 'masked' : 'scores'],
      'weights',
      hasNoAxis ? [] : [{ name: 'axis', type: ATTRIBUTE_TYPE.int, i: -1 }],
    ),
    ...(after ? [nodeOf(after, ['weights'], 'weights.after')] : []),
    nodeOf('MatMul', [after ? 'weights.after' : 'weights', 'values.turned'], 'product'),
    nodeOf('Transpose', ['product'], 'back', [ints('perm', [0, 2, 1, 3])]),
    nodeOf('Reshape', ['back', 'together'], 'result'),
  ];
  const int64 = (name: string, values: readonly number[]) => ({
    name,
    dims: [values.length],
    dataType: DATA_TYPE.int64,
    int64Data: [...values],
  });
  const scale = floatTensor(type, Float32Array.of(0.5), []).data;
  const graph = {
    name: 'attention',
    node,
    input: [
      ...['queries', 'keys', 'values'].map((name) => shaped(name, [`${name}.rows`, `${name}.tokens`, WIDTH])),
      ...(mask ? [shaped('mask', mask)] : []),
    ],
    output: [
      shaped('result', ['rows', 'tokens', WIDTH]),
      ...(showsWeights ? [shaped('weights', ['rows', HEADS, 'tokens', 'tokens'])] : []),
    ],
    initializer: [
      int64('apart', shapes[0]),
      int64('together', shapes[1]),
      { name: 'scale', dims: [], dataType: elemType, rawData: new Uint8Array(scale.buffer) },
    ],
  };
  const path = join(folder, 'model.onnx');
  writeFileSync(
    path,
    encode('ModelProto', { irVersion: 8, opsetImport: [{ domain: '', version: opset }], graph }),
  );
  return path;
}

const wave = (length: number, phase: number): Float32Array =>
  Float32Array.from({ length }, (_, i) => Math.sin(i * i * 0.7 + i + phase));

async function resultOf(session: RuntimeSession, { mask, type = 'float32' }: Written): Promise<Float32Array> {
  const inputs = ['queries', 'keys', 'values'].map((name, phase): [string, Tensor] => [
    name,
    floatTensor(type, wave(ROWS * TOKENS * WIDTH, phase), [ROWS, TOKENS, WIDTH]),
  ]);
  const hidden =
    mask && Float32Array.from({ length: elementCount(mask) }, (_, i) => (i % 4 === 1 ? -1e4 : 0));
  const feeds = {
    ...Object.fromEntries(inputs),
    ...(mask && hidden && { mask: floatTensor(type, hidden, mask) }),
  };
  return floatValues((await session.run(feeds)).result);
}

/** Its results as in the file and as it is opened by default, and what has become of its attention. */
async function bothWays(written: Written) {
  const path = writeAttention(written);
  const [original, fused] = await Promise.all([
    onnxRuntime.load({ path }, { ...CPU, fuses: false }),
    onnxRuntime.load({ path }, CPU),
  ]);
  try {
    const results = { original: await resultOf(original, written), fused: await resultOf(fused, written) };
    // After the first run: a graph that does not run fused is opened again.
    return { ...results, fusion: fused.fusion };
  } finally {
    await original.close();
    await fused.close();
  }
}

test.each([
  {},
  { hasNoAxis: true },
  { mask: [TOKENS, TOKENS] },
  { mask: [ROWS, 1, 1, TOKENS] },
  { mask: [1, 1, TOKENS, TOKENS] },
  { mask: [ROWS, HEADS, TOKENS, TOKENS] },
])(
  'An attention that is written like %o is fused when its graph is opened, and gives the same values',
  async (written) => {
    const { fusion, original, fused } = await bothWays(written);
    expect(fusion).toEqual({ attentions: 1, left: {} });
    expect(largestDifference(original, fused)).toBeLessThan(1e-6);
  },
);

test('An attention in half precision is fused when its result is as near to the exact one', async () => {
  const { fusion, original, fused } = await bothWays({ type: 'float16' });
  expect(fusion).toEqual({ attentions: 1, left: {} });
  expect(largestDifference(original, fused)).toBeLessThan(2e-3);
});

test.each([
  [{ after: 'Identity' }, 'its weights are not only multiplied with values'],
  [{ showsWeights: true }, 'its weights are an output of the graph'],
  [{ hasNoAxis: true, opset: 12 }, 'its Softmax is not over the last dimension'],
  [{ order: [0, 2, 3, 1] }, 'its queries are not turned to [batch, heads, tokens, head size]'],
] as const)(
  'An attention that is written in another way stays as it is, with the reason: %o',
  async (written, reason) => {
    const path = writeAttention(written);
    const { source, fusion } = await withFusedAttention({ path }, () =>
      Promise.reject(new Error('not asked')),
    );
    expect(fusion).toEqual({ attentions: 0, left: { [reason]: 1 } });
    expect(source).toEqual({ path });
  },
);

test('Heads that look like more than they are give the values of the graph as exported', async () => {
  // Ten tokens of one head: the width of 8 looks like two heads.
  const { fusion, original, fused } = await bothWays({
    shapes: [
      [0, 2 * TOKENS, -1, SIZE],
      [0, TOKENS, WIDTH],
    ],
  });
  expect(fused).toEqual(original);
  expect(fusion?.attentions).toBe(0);
  expect(Object.keys(fusion?.left ?? {})[0]).toMatch(/^the graph does not run with them fused: /);
});

test.each([
  { rows: [3, 1, 1], tokens: [5, 5, 5] },
  { rows: [1, 3, 3], tokens: [5, 5, 5] },
  { rows: [2, 2, 2], tokens: [0, 0, 0] },
])(
  'Queries, keys and values with rows and tokens of %o give the values of the graph as exported',
  async (sizes) => {
    const path = writeAttention({});
    const feeds = Object.fromEntries(
      ['queries', 'keys', 'values'].map((name, i): [string, Tensor] => {
        const dims = [sizes.rows[i], sizes.tokens[i], WIDTH];
        return [name, floatTensor('float32', wave(elementCount(dims), i), dims)];
      }),
    );
    const results: Tensor[] = [];
    for (const fuses of [false, true]) {
      const session = await onnxRuntime.load({ path }, { ...CPU, fuses });
      results.push((await session.run(feeds)).result);
      await session.close();
    }
    expect(results[1]).toEqual(results[0]);
  },
);

/** Runs a model as ONNX Runtime does, but its fused attention makes `change` of its result. */
const withWrongAttention =
  (change: (value: number) => number): RunModel =>
  async (model, feeds) => {
    const path = join(folder, 'piece.onnx');
    writeFileSync(path, model);
    const session = await onnxRuntime.load({ path }, { ...CPU, fuses: false });
    const [result] = Object.values(await session.run(feeds));
    await session.close();
    const isFused = Buffer.from(model).includes('MultiHeadAttention');
    return isFused ? floatTensor('float32', floatValues(result).map(change), result.dims) : result;
  };

test('A fused attention that a provider computes wrongly is found before it serves, and the graph stays as it is', async () => {
  const path = writeAttention({});
  const { source, fusion } = await withFusedAttention(
    { path },
    withWrongAttention((value) => value * 1.001),
  );
  expect(source).toEqual({ path });
  const [reason] = Object.keys(fusion?.left ?? {});
  expect(reason).toMatch(/^fused, it differs by 0\.00\d+ of its largest value, at most 0\.00001 allowed$/);
});

test('A provider that cannot run a fused attention gets the graph as it is, with what it said', async () => {
  const path = writeAttention({});
  const refused: RunModel = (model, feeds) =>
    Buffer.from(model).includes('MultiHeadAttention')
      ? Promise.reject(new Error('no kernel for MultiHeadAttention'))
      : withWrongAttention((value) => value)(model, feeds);
  const { source, fusion } = await withFusedAttention({ path }, refused);
  expect(source).toEqual({ path });
  const reason = 'it cannot be compared: no kernel for MultiHeadAttention';
  expect(fusion).toEqual({ attentions: 0, left: { [reason]: 1 } });
});

test.each([{ fuses: false }, { optimization: 'disabled' }] as const)(
  'A graph that is opened with %o has its attentions as in its file',
  async (options) => {
    const session = await onnxRuntime.load({ path: writeAttention({}) }, { ...CPU, ...options });
    expect(session.fusion).toBeUndefined();
    await session.close();
  },
);

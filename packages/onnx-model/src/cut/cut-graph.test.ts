import { expect, test } from 'vitest';
import {
  cutGraph,
  DATA_TYPE,
  encode,
  memorySource,
  type NodeProto,
  readStoredModel,
  type StoredModel,
} from '../index.ts';

const CHANNELS = 4;
const image = (name: string) => ({
  name,
  type: {
    tensorType: {
      elemType: DATA_TYPE.float32,
      shape: { dim: [{ dimValue: 1 }, { dimValue: CHANNELS }, { dimParam: 'h' }, { dimParam: 'w' }] },
    },
  },
});
const node = (
  opType: string,
  input: string[],
  output: string,
  fields: Partial<NodeProto> = {},
): NodeProto => ({
  opType,
  name: output,
  input,
  output: [output],
  ...fields,
});
const conv = (from: string, to: string): NodeProto => node('Conv', [from, `${to}.weight`], to);

/** Each convolution gets a weight of its own. */
function modelOf(nodes: readonly NodeProto[], output: string): StoredModel {
  const weights = nodes
    .flatMap(({ input }) => input ?? [])
    .filter((name) => name.endsWith('.weight'))
    .map((name) => ({
      name,
      dims: [CHANNELS, CHANNELS, 3, 3],
      dataType: DATA_TYPE.float32,
      rawData: new Uint8Array(CHANNELS * CHANNELS * 9 * 4),
    }));
  const bytes = encode('ModelProto', {
    irVersion: 8,
    opsetImport: [{ domain: '', version: 17 }],
    graph: {
      name: 'main',
      node: [...nodes],
      input: [image('x')],
      output: [image(output)],
      initializer: [...new Map(weights.map((weight) => [weight.name, weight])).values()],
    },
  });
  return readStoredModel(memorySource(bytes));
}

/** x -- conv -- block -- block ...: each block adds what one convolution makes of its input to what two make of it. */
function blocks(count: number): NodeProto[] {
  const made = [conv('x', 'b0')];
  for (let i = 1; i <= count; i += 1) {
    const [from, to] = [`b${i - 1}`, `b${i}`];
    made.push(conv(from, `${to}.skip`), conv(from, `${to}.inner`), conv(`${to}.inner`, `${to}.outer`));
    made.push(node('Add', [`${to}.skip`, `${to}.outer`], to));
  }
  return made;
}

const namesOf = (nodes: readonly NodeProto[] | null | undefined): string[] =>
  (nodes ?? []).map(({ name }) => name ?? '');
const weightsOf = ({ initializers }: Pick<StoredModel, 'initializers'>): string[] =>
  initializers.map(({ tensor }) => tensor.name ?? '');

test('A graph is cut where a single value is needed afterwards, and each node and weight is in one piece', () => {
  const stored = modelOf(blocks(6), 'b6');
  const pieces = cutGraph(stored, 0.4);
  expect(pieces.map(({ given, made }) => [given, made])).toEqual([
    [undefined, 'b2'],
    ['b2', 'b4'],
    ['b4', 'b6'],
  ]);
  expect(pieces.flatMap(({ nodes }) => namesOf(nodes))).toEqual(namesOf(stored.graph.node));
  expect(pieces.flatMap(weightsOf).toSorted()).toEqual(weightsOf(stored).toSorted());
});

test('A graph is not cut at a value of another type or rank than its output', () => {
  const half = { attribute: [{ name: 'to', type: 2, i: DATA_TYPE.float16 }] };
  const whole = { attribute: [{ name: 'to', type: 2, i: DATA_TYPE.float32 }] };
  const stored = modelOf(
    [
      conv('x', 'a'),
      node('Cast', ['a'], 'b', half),
      conv('b', 'c'),
      node('Cast', ['c'], 'd', whole),
      conv('d', 'y'),
    ],
    'y',
  );
  expect(cutGraph(stored, 0.1).map(({ made }) => made)).toEqual(['a', 'd', 'y']);
});

test('A graph is not cut at a value that is added to another as it is', () => {
  const stored = modelOf(
    [conv('x', 'a'), conv('a', 'b'), conv('b', 'c'), node('Add', ['b', 'c'], 'd'), conv('d', 'y')],
    'y',
  );
  expect(cutGraph(stored, 0.1).map(({ made }) => made)).toEqual(['a', 'd', 'y']);
});

test('A graph with two outputs stays whole', () => {
  const stored = modelOf(blocks(4), 'b4');
  stored.graph.output = [image('b4'), image('b3')];
  expect(cutGraph(stored, 0.1)).toHaveLength(1);
});

test('A graph that stays whole has the reason', () => {
  const whole = (stored: StoredModel, share = 0.1): string | undefined => {
    const [piece, ...more] = cutGraph(stored, share);
    expect(more).toEqual([]);
    return piece.whole;
  };
  const several = modelOf(blocks(4), 'b4');
  several.graph.output = [image('b4'), image('b3')];
  expect(whole(several)).toBe('it has 2 outputs');
  const shapeless = modelOf(blocks(4), 'b4');
  shapeless.graph.output = [{ name: 'b4', type: { tensorType: { elemType: DATA_TYPE.float32 } } }];
  expect(whole(shapeless)).toBe('its file says no type or shape of its output b4');
  const parallel = [conv('x', 'a'), conv('x', 'b'), node('Add', ['a', 'b'], 'y')];
  expect(whole(modelOf(parallel, 'y'))).toBe('nowhere does all that follows need a single value');
  const reshaped = [
    node('Reshape', ['x', 'sizes'], 'a'),
    node('Add', ['a', 'a'], 'b'),
    node('Relu', ['b'], 'y'),
  ];
  const unknown = modelOf(reshaped, 'y');
  unknown.graph.input?.push({ name: 'sizes', type: { tensorType: { elemType: DATA_TYPE.int64 } } });
  expect(whole(unknown)).toBe(
    'nowhere can a value be handed over: a is added to another as it is; the rank of b is not known',
  );
  const flat = { ...node('Cast', ['x'], 'a'), attribute: [{ name: 'to', type: 2, i: DATA_TYPE.float16 }] };
  expect(whole(modelOf([flat, node('Relu', ['a'], 'y')], 'y'))).toBe(
    'nowhere can a value be handed over: a has another type or rank than the output',
  );
  expect(whole(modelOf(blocks(4), 'b4'), 1)).toBe('a piece of that share is the whole');
});

test('A doubled picture counts four times, so that more nodes are before a cut than after it', () => {
  const scales = {
    name: 'scales',
    dims: [4],
    dataType: DATA_TYPE.float32,
    rawData: new Uint8Array(Float32Array.of(1, 1, 2, 2).buffer),
  };
  const stored = modelOf(
    [...blocks(3), node('Resize', ['b3', '', 'scales'], 'large'), conv('large', 'c'), conv('c', 'y')],
    'y',
  );
  const withScales = {
    ...stored,
    initializers: [...stored.initializers, { tensor: scales, start: 0, end: 0 }],
  };
  const [first, second] = cutGraph(withScales, 0.55);
  expect(first.made).toBe('b3');
  expect(namesOf(second.nodes)).toEqual(['large', 'c', 'y']);
});

test('What follows from constants and from the shape of an input is in every piece that reads it', () => {
  const shape = [node('Shape', ['x'], 'shape'), node('Identity', ['shape'], 'size')];
  const reshape = (from: string, to: string) => node('Reshape', [from, 'size'], to);
  const stored = modelOf(
    [...shape, conv('x', 'a'), reshape('a', 'a2'), conv('a2', 'b'), reshape('b', 'b2'), conv('b2', 'y')],
    'y',
  );
  const pieces = cutGraph(stored, 0.4);
  expect(pieces.map(({ given }) => given)).toEqual([undefined, 'a', 'b']);
  for (const { nodes } of pieces.slice(1))
    expect(namesOf(nodes)).toEqual(expect.arrayContaining(['shape', 'size']));
});

test('A graph in which two values are needed everywhere stays whole', () => {
  const stored = modelOf(
    [conv('x', 'a'), conv('x', 'b'), conv('a', 'c'), conv('b', 'd'), node('Add', ['c', 'd'], 'y')],
    'y',
  );
  expect(cutGraph(stored, 0.1)).toMatchObject([{ made: 'y', nodes: stored.graph.node }]);
});

test('Noise is drawn in one piece only', () => {
  const noise = node('RandomNormal', [], 'noise');
  const stored = modelOf(
    [
      noise,
      conv('x', 'a'),
      node('Add', ['a', 'noise'], 'b'),
      conv('b', 'c'),
      node('Add', ['c', 'noise'], 'y'),
    ],
    'y',
  );
  expect(cutGraph(stored, 0.1)).toHaveLength(1);
});

test('Nodes that read each other in a circle are refused', () => {
  const stored = modelOf([conv('b', 'a'), conv('a', 'b')], 'b');
  expect(() => cutGraph(stored, 0.5)).toThrow('in a circle');
});

test('A graph that lists its weights among its inputs is cut like one that does not', () => {
  const stored = modelOf(blocks(6), 'b6');
  stored.graph.input = [image('x'), ...weightsOf(stored).map(image)];
  expect(cutGraph(stored, 0.4).map(({ made }) => made)).toEqual(['b2', 'b4', 'b6']);
});

test('A graph is cut after a value is in float again, and not while it is quantized', () => {
  const scale = { name: 'scale', dims: [], dataType: DATA_TYPE.float32, floatData: [0.1] };
  const quantized = (from: string, to: string) => [
    node('QuantizeLinear', [from, 'scale', 'zero'], `${to}.whole`),
    node('DequantizeLinear', [`${to}.whole`, 'scale', 'zero'], to),
  ];
  const stored = modelOf(
    // What a convolution makes is added to something, so that it is no place to cut either.
    [conv('x', 'a'), node('Add', ['a', 'a'], 'b'), ...quantized('b', 'c'), conv('c', 'y')],
    'y',
  );
  const zero = { name: 'zero', dims: [], dataType: DATA_TYPE.uint8, int32Data: [128] };
  const initializers = [scale, zero].map((tensor) => ({ tensor, start: 0, end: 0 }));
  const cuts = cutGraph({ ...stored, initializers: [...stored.initializers, ...initializers] }, 0.01);
  expect(cuts.map(({ made }) => made)).toEqual(['b', 'c', 'y']);
});

/**
 * Adds adapters to a graph in which they are a property of a row: for a layer y = x W it computes
 *
 *   y = x W + ((x A) * s) B
 *
 * where A and B hold the matrices of all adapters side by side, and s has for each row the scales of its adapters, each as often as its rank.
 * They come from one new input [rows, adapters]. The layer itself and all that finds it by its place in the graph stay as they are.
 */
import {
  ATTRIBUTE_TYPE,
  DATA_TYPE,
  type Dimension,
  type NewTensor,
  type NodeProto,
  type SafeTensor,
  type StoredModel,
  type TensorProto,
  toFloat16,
} from '@lehr/onnx-model';
import type { Tensor } from '../../runtime/tensor.ts';
import { floatsIn, ValuesError } from '../weights/weight-values.ts';
import type { AdaptableModule, AdapterPlan, PlannedModule, PlannedShare } from './plan-adapters.ts';

/** The input with the scales of each row. */
export const ADAPTER_SCALES = 'lehr_adapter_scales';

/** An adapter has values that the graph cannot have; the message is a predicate of its file. */
export class AdapterValuesError extends Error {
  /** As models.yaml names it. */
  readonly adapter: string;

  constructor(adapter: string, cause: Error) {
    super(cause.message, { cause });
    this.adapter = adapter;
  }
}

/**
 * Changes the graph, and returns the matrices that are to be written with it: each is read when it is written, and may then throw
 * AdapterValuesError.
 */
export function addAdapters(stored: StoredModel, { modules, columns }: AdapterPlan): NewTensor[] {
  const { graph } = stored;
  const dim = [rowsOf(stored), { dimValue: columns.length }];
  const input = {
    name: ADAPTER_SCALES,
    type: { tensorType: { elemType: DATA_TYPE.float32, shape: { dim } } },
  };
  graph.input = [...(graph.input ?? []), input];
  const scales = new Scales(stored);
  const added = new Map<NodeProto, NodeProto[]>();
  const tensors: NewTensor[] = [];
  for (const [index, planned] of modules.entries()) {
    const { module, shares } = planned;
    const name = `lehr_adapters.${index}`;
    tensors.push(...matricesOf(name, planned));
    for (const [at, node] of module.nodes.entries())
      added.set(
        node,
        branch(node, module, at === 0 ? name : `${name}.${at}`, name, scales.of(node, module, shares)),
      );
  }
  const nodes = (graph.node ?? []).flatMap((node) => [node, ...(added.get(node) ?? [])]);
  graph.node = [...scales.nodes, ...nodes];
  return [...scales.tensors, ...tensors];
}

/** The first dimension of the latent, or of the tokens. Files of old opsets list their weights among the inputs. */
function rowsOf({ graph, initializers }: StoredModel): Dimension {
  const weights = new Set(initializers.map(({ tensor }) => tensor.name));
  const shapes = (graph.input ?? []).flatMap(({ name, type }) =>
    weights.has(name) ? [] : [type?.tensorType?.shape?.dim ?? []],
  );
  return shapes.find((dims) => dims.length > 1)?.[0] ?? { dimParam: 'rows' };
}

/** The scales of a row, each as often as the rank of its adapter in a layer: layers with the same adapters and ranks share them. */
class Scales {
  readonly nodes: NodeProto[] = [];
  readonly tensors: NewTensor[] = [];
  readonly #made = new Set<string>();
  readonly #ranks: ReadonlyMap<string, number>;

  constructor({ graph }: StoredModel) {
    this.#ranks = new Map(
      (graph.valueInfo ?? []).flatMap(({ name, type }) => {
        const rank = type?.tensorType?.shape?.dim?.length;
        return name && rank !== undefined ? [[name, rank]] : [];
      }),
    );
  }

  /** The value to multiply with what the first matrix makes of the input of this node. */
  of(node: NodeProto, { kind, path, type }: AdaptableModule, shares: readonly PlannedShare[]): string {
    const rank = kind === 'Conv' ? 4 : (this.#ranks.get(node.input?.[0] ?? '') ?? rankOf(kind, path));
    const columns = shares.flatMap(({ column, lowRank }) => new Array<number>(lowRank.rank).fill(column));
    const layout = shares.map(({ column, lowRank }) => `${column}x${lowRank.rank}`).join('_');
    const spread = `lehr_scales.${layout}`;
    this.#once(spread, () => {
      this.tensors.push(integers(`${spread}.columns`, columns));
      this.#node('Gather', [ADAPTER_SCALES, `${spread}.columns`], spread, { axis: 1 });
    });
    const typed = type === DATA_TYPE.float32 ? spread : `${spread}.${type}`;
    this.#once(typed, () => this.#node('Cast', [spread], typed, { to: type }));
    if (rank === 2) return typed;
    const shaped = `${typed}.rank${rank}`;
    this.#once(shaped, () => {
      const last = columns.length;
      const shape = kind === 'Conv' ? [-1, last, 1, 1] : [-1, ...new Array<number>(rank - 2).fill(1), last];
      this.tensors.push(integers(`${shaped}.shape`, shape));
      this.#node('Reshape', [typed, `${shaped}.shape`], shaped);
    });
    return shaped;
  }

  #once(name: string, make: () => void): void {
    if (this.#made.has(name)) return;
    this.#made.add(name);
    make();
  }

  #node(opType: string, input: string[], output: string, ints: Readonly<Record<string, number>> = {}): void {
    this.nodes.push(
      nodeOf(
        opType,
        input,
        output,
        Object.entries(ints).map(([name, i]) => intOf(name, i)),
      ),
    );
  }
}

/** Layers that see the step or the whole prompt, and no tokens. */
const WITHOUT_TOKENS = /(?:time_emb_proj|(?:time|add)_embedding|text_projection|cond_proj)/;

/** How many dimensions the input of a linear layer has, where the graph does not say: rows, tokens and values, but of some no tokens. */
const rankOf = (kind: AdaptableModule['kind'], path: string): 2 | 3 =>
  kind === 'Gemm' || WITHOUT_TOKENS.test(path) ? 2 : 3;

/** The nodes that follow the layer's own. */
function branch(
  node: NodeProto,
  { kind }: AdaptableModule,
  name: string,
  weights: string,
  scales: string,
): NodeProto[] {
  const [x = ''] = node.input ?? [];
  const [y = ''] = node.output ?? [];
  const own = `${name}.own`;
  node.output = [own];
  const multiply = kind === 'Conv' ? 'Conv' : 'MatMul';
  // As the layer's own convolution, but for its output channels.
  const sameSteps = kind === 'Conv' ? (node.attribute ?? []) : [];
  return [
    nodeOf(multiply, [x, `${weights}.down`], `${name}.low`, sameSteps),
    nodeOf('Mul', [`${name}.low`, scales], `${name}.scaled`),
    nodeOf(multiply, [`${name}.scaled`, `${weights}.up`], `${name}.change`),
    nodeOf('Add', [own, `${name}.change`], y),
  ].map((each) => ({ ...each, name: `${node.name ?? ''}/${each.name}` }));
}

const nodeOf = (
  opType: string,
  input: string[],
  output: string,
  attribute: NodeProto['attribute'] = [],
): NodeProto => ({ opType, name: output, input, output: [output], attribute });

const intOf = (name: string, i: number) => ({ name, type: ATTRIBUTE_TYPE.int, i });

const integers = (name: string, values: readonly number[]): NewTensor => {
  const data = new Uint8Array(BigInt64Array.from(values, BigInt).buffer);
  const tensor: TensorProto = { name, dims: [values.length], dataType: DATA_TYPE.int64 };
  return { tensor, bytes: data.byteLength, load: () => data };
};

const totalRank = (shares: readonly PlannedShare[]): number =>
  shares.reduce((sum, { lowRank }) => sum + lowRank.rank, 0);

/**
 * What the absolute values of a row of a first matrix add up to at most: so much larger than a value of the layer's input is what the row makes of
 * it. Where that is more than the type holds, it would be no number in the rows without the adapter too, times a scale of 0.
 */
const MOST_GAIN = 64;

/** The two matrices of all adapters of a layer. A row that is too steep is divided by a power of two, and its column of the second one multiplied. */
function matricesOf(name: string, planned: PlannedModule): NewTensor[] {
  const known = new Map<PlannedShare, readonly number[]>();
  const divisorsOf = (share: PlannedShare, down = floatsOf(share, share.lowRank.down)): readonly number[] => {
    const divisors = known.get(share) ?? gainsOf(down, share.lowRank.rank).map(divisorFor);
    known.set(share, divisors);
    return divisors;
  };
  return [
    downTensor(`${name}.down`, planned, divisorsOf),
    upTensor(`${name}.up`, planned, (share) => divisorsOf(share)),
  ];
}

const divisorFor = (gain: number): number =>
  gain > MOST_GAIN ? 2 ** Math.ceil(Math.log2(gain / MOST_GAIN)) : 1;

function gainsOf(down: Float32Array, rank: number): number[] {
  const width = down.length / rank;
  return Array.from({ length: rank }, (_, row) =>
    down.subarray(row * width, (row + 1) * width).reduce((sum, value) => sum + Math.abs(value), 0),
  );
}

/** The first matrices side by side: [inputs, ranks], of a convolution [ranks, inputs, height, width]. */
function downTensor(
  name: string,
  { module, shares }: PlannedModule,
  divisorsOf: (share: PlannedShare, down: Float32Array) => readonly number[],
): NewTensor {
  const { kind, inputs, kernel } = module;
  const ranks = totalRank(shares);
  const dims = kind === 'Conv' ? [ranks, inputs, ...kernel] : [inputs, ranks];
  return newTensor(name, dims, module, (out) => {
    let at = 0;
    for (const share of shares) {
      const { rank, down } = share.lowRank;
      const values = floatsOf(share, down);
      const width = values.length / rank;
      const divisors = divisorsOf(share, values);
      for (let i = 0; i < values.length; i += 1) values[i] /= divisors[Math.floor(i / width)];
      refuseTooLarge(share, down, values, module);
      if (kind === 'Conv') out.set(values, at * width);
      else
        for (let row = 0; row < rank; row += 1)
          for (let i = 0; i < inputs; i += 1) out[i * ranks + at + row] = values[row * inputs + i];
      at += rank;
    }
  });
}

/** The second matrices, each with its factor, one below the other: [ranks, outputs], of a convolution [outputs, ranks, 1, 1]. */
function upTensor(
  name: string,
  { module, shares }: PlannedModule,
  divisorsOf: (share: PlannedShare) => readonly number[],
): NewTensor {
  const { kind, outputs } = module;
  const ranks = totalRank(shares);
  const dims = kind === 'Conv' ? [outputs, ranks, 1, 1] : [ranks, outputs];
  return newTensor(name, dims, module, (out) => {
    let at = 0;
    for (const share of shares) {
      const { rank, up, factor } = share.lowRank;
      const values = floatsOf(share, up);
      const divisors = divisorsOf(share);
      for (let i = 0; i < values.length; i += 1) values[i] *= factor * divisors[i % rank];
      refuseTooLarge(share, up, values, module);
      for (let row = 0; row < rank; row += 1)
        for (let o = 0; o < outputs; o += 1) {
          const to = kind === 'Conv' ? o * ranks + at + row : (at + row) * outputs + o;
          out[to] = values[o * rank + row];
        }
      at += rank;
    }
  });
}

function floatsOf({ adapter }: PlannedShare, tensor: SafeTensor): Float32Array {
  try {
    return floatsIn(adapter.source, tensor);
  } catch (error) {
    throw error instanceof ValuesError ? new AdapterValuesError(adapter.name, error) : error;
  }
}

/** The largest value of a graph in half precision. */
const MAX_HALF = 65_504;

function refuseTooLarge(
  { adapter }: PlannedShare,
  { name }: SafeTensor,
  values: Float32Array,
  { type }: AdaptableModule,
): void {
  const isHalf = type === DATA_TYPE.float16;
  const largest = isHalf ? MAX_HALF : Number.MAX_VALUE;
  if (values.every((value) => Math.abs(value) <= largest)) return;
  const what = `that are too large for the float${isHalf ? 16 : 32} of this model`;
  throw new AdapterValuesError(adapter.name, new ValuesError(`has values in ${name} ${what}`));
}

function newTensor(
  name: string,
  dims: number[],
  { type }: AdaptableModule,
  fill: (out: Float32Array) => void,
): NewTensor {
  const length = dims.reduce((product, size) => product * size, 1);
  const isHalf = type === DATA_TYPE.float16;
  return {
    tensor: { name, dims, dataType: type },
    bytes: length * (isHalf ? 2 : 4),
    load() {
      const values = new Float32Array(length);
      fill(values);
      return new Uint8Array(isHalf ? toFloat16(values).buffer : values.buffer);
    },
  };
}

/** How strongly an adapter acts on a row of a UNet or of a text encoder. */
export interface AdapterScale {
  /** As models.yaml names it. */
  readonly name: string;
  /** 1 is as it was trained, 0 is nothing. */
  readonly scale: number;
}

interface AdaptedRow {
  readonly adapters?: readonly AdapterScale[] | undefined;
}

/** The scale of each adapter of a graph for one row: 0 for those that do not act on it. */
export const scalesOf = (columns: readonly string[], { adapters = [] }: AdaptedRow): number[] =>
  columns.map((column) => adapters.find(({ name }) => name === column)?.scale ?? 0);

/** `[rows, adapters]`. */
export function stackScales(columns: readonly string[], rows: readonly AdaptedRow[]): Tensor {
  const data = Float32Array.from(rows.flatMap((row) => scalesOf(columns, row)));
  return { type: 'float32', data, dims: [rows.length, columns.length] };
}

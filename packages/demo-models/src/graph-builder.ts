/** Builds an ONNX graph node by node, with the names of torch.onnx and the file layout of Optimum. */
import {
  ATTRIBUTE_TYPE,
  type AttributeProto,
  DATA_TYPE,
  EXTERNAL,
  encode,
  type GraphProto,
  type ModelProto,
  type NodeProto,
  type TensorProto,
  toFloat16,
  type ValueInfoProto,
} from '@lehr/onnx-model';

export type FloatType = 'float32' | 'float16';
type ElementType = keyof typeof DATA_TYPE;
/** A number is an INT, an array INTS, a string a STRING; FLOAT, TENSOR and GRAPH are named. */
type AttributeValue =
  | number
  | readonly number[]
  | string
  | { readonly float: number }
  | { readonly tensor: TensorProto }
  | { readonly graph: GraphProto };
type Dims = readonly (number | string)[];

export interface BuiltGraph {
  readonly bytes: Uint8Array;
  /** The weights, when they go into a separate file. */
  readonly externalData: Uint8Array | undefined;
}

/** Smaller tensors stay in the graph, as in Optimum and onnx: shape inference reads them there. */
const MIN_EXTERNAL_BYTES = 1024;
/** From opset 13 on, Unsqueeze and Squeeze take their axes as an input. */
const AXES_AS_INPUT_OPSET = 13;

const int64Bytes = (values: readonly number[]): Uint8Array =>
  new Uint8Array(BigInt64Array.from(values, (value) => BigInt(value)).buffer);

export class GraphBuilder {
  readonly floatType: FloatType;
  readonly #name: string;
  readonly #opset: number;
  readonly #nodes: NodeProto[] = [];
  readonly #initializers: TensorProto[] = [];
  readonly #inputs: ValueInfoProto[] = [];
  readonly #outputs: ValueInfoProto[] = [];
  readonly #used = new Map<string, number>();

  constructor(name: string, opset: number, floatType: FloatType) {
    this.#name = name;
    this.#opset = opset;
    this.floatType = floatType;
  }

  input(name: string, type: ElementType, dims: Dims): string {
    this.#inputs.push(valueInfo(name, type, dims));
    return name;
  }

  output(name: string, from: string, type: ElementType, dims: Dims): void {
    this.#outputs.push(valueInfo(name, type, dims));
    this.#nodes.push({ opType: 'Identity', name: `/output/${name}`, input: [from], output: [name] });
  }

  /** A float initializer in the graph's float type. */
  weight(name: string, dims: readonly number[], values: Float32Array): string {
    const data = this.floatType === 'float16' ? toFloat16(values) : values;
    const rawData = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    this.#initializers.push({ name, dims: [...dims], dataType: DATA_TYPE[this.floatType], rawData });
    return name;
  }

  /**
   * A float initializer that is stored in a file beside the graph, in the graph's float type, from this offset on. Several may share
   * their bytes.
   */
  storedWeight(name: string, dims: readonly number[], location: string, offset: number): string {
    const length = dims.reduce((product, dim) => product * dim, 1) * (this.floatType === 'float16' ? 2 : 4);
    const header = { name, dims: [...dims], dataType: DATA_TYPE[this.floatType] };
    this.#initializers.push(externalTensor(header, location, offset, length));
    return name;
  }

  /** A Constant node with int64 values; a scalar when `values` is a number. */
  ints(values: number | readonly number[]): string {
    const list = typeof values === 'number' ? [values] : values;
    const dims = typeof values === 'number' ? [] : [list.length];
    return this.add('Constant', [], {
      value: { tensor: { dims, dataType: DATA_TYPE.int64, rawData: int64Bytes(list) } },
    });
  }

  /** A Constant node with float32 values, whatever the graph's float type. */
  floats(dims: readonly number[], values: Float32Array): string {
    const rawData = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
    return this.add('Constant', [], {
      value: { tensor: { dims: [...dims], dataType: DATA_TYPE.float32, rawData } },
    });
  }

  /** A subgraph for `choose`. It can use all values and weights of this graph; new weights must be added to this graph. */
  branch(name: string): GraphBuilder {
    return new GraphBuilder(name, this.#opset, this.floatType);
  }

  /** An If node: its outputs are those of the chosen branch. Both branches have the same outputs in the same order. */
  choose(condition: string, then: GraphBuilder, otherwise: GraphBuilder): void {
    for (const branch of [then, otherwise]) {
      if (branch.#initializers.length > 0)
        throw new Error(`The weights of ${branch.#name} must be added to the graph around it.`);
    }
    const attribute = [
      buildAttribute('then_branch', { graph: then.#graph() }),
      buildAttribute('else_branch', { graph: otherwise.#graph() }),
    ];
    const output = then.#outputs.map(({ name }) => name ?? '');
    this.#nodes.push({ opType: 'If', name: 'optimum::if', input: [condition], output, attribute });
    for (const value of then.#outputs) this.#outputs.push(value);
  }

  /** Adds a node and returns the name of its only output. */
  add(opType: string, inputs: readonly string[], attributes: Record<string, AttributeValue> = {}): string {
    const count = this.#used.get(opType) ?? 0;
    this.#used.set(opType, count + 1);
    const name = count === 0 ? `/${opType}` : `/${opType}_${count}`;
    const output = `${name}_output_0`;
    const attribute = Object.entries(attributes).map(([key, value]) => buildAttribute(key, value));
    this.#nodes.push({ opType, name, input: [...inputs], output: [output], attribute });
    return output;
  }

  unsqueeze(value: string, axes: readonly number[]): string {
    return this.#opset >= AXES_AS_INPUT_OPSET
      ? this.add('Unsqueeze', [value, this.ints(axes)])
      : this.add('Unsqueeze', [value], { axes });
  }

  cast(value: string, type: ElementType): string {
    return this.add('Cast', [value], { to: DATA_TYPE[type] });
  }

  silu(value: string): string {
    return this.add('Mul', [value, this.add('Sigmoid', [value])]);
  }

  /** `externalData`: name of the file beside the graph that will hold the weights; undefined to keep them inside. */
  build(externalData: string | undefined): BuiltGraph {
    const parts: Uint8Array[] = [];
    const initializer = externalData
      ? this.#initializers.map((tensor) => moveOut(tensor, externalData, parts))
      : this.#initializers;
    const model: ModelProto = {
      irVersion: 7,
      producerName: 'lehr',
      opsetImport: [{ domain: '', version: this.#opset }],
      graph: { ...this.#graph(), initializer },
    };
    return {
      bytes: encode('ModelProto', model),
      externalData: externalData ? Buffer.concat(parts) : undefined,
    };
  }

  #graph(): GraphProto {
    return { name: this.#name, node: this.#nodes, input: this.#inputs, output: this.#outputs };
  }
}

function moveOut(tensor: TensorProto, location: string, parts: Uint8Array[]): TensorProto {
  const data = tensor.rawData;
  if (!data || data.byteLength < MIN_EXTERNAL_BYTES) return tensor;
  const offset = parts.reduce((sum, part) => sum + part.byteLength, 0);
  parts.push(data);
  const { rawData: _, ...header } = tensor;
  return externalTensor(header, location, offset, data.byteLength);
}

function externalTensor(header: TensorProto, location: string, offset: number, length: number): TensorProto {
  const entries = { location, offset: `${offset}`, length: `${length}` };
  return {
    ...header,
    dataLocation: EXTERNAL,
    externalData: Object.entries(entries).map(([key, value]) => ({ key, value })),
  };
}

function valueInfo(name: string, type: ElementType, dims: Dims): ValueInfoProto {
  const dim = dims.map((size) => (typeof size === 'number' ? { dimValue: size } : { dimParam: size }));
  return { name, type: { tensorType: { elemType: DATA_TYPE[type], shape: { dim } } } };
}

function buildAttribute(name: string, value: AttributeValue): AttributeProto {
  if (typeof value === 'number') return { name, type: ATTRIBUTE_TYPE.int, i: value };
  if (typeof value === 'string') return { name, type: ATTRIBUTE_TYPE.string, s: Buffer.from(value) };
  if ('float' in value) return { name, type: ATTRIBUTE_TYPE.float, f: value.float };
  if ('tensor' in value) return { name, type: ATTRIBUTE_TYPE.tensor, t: value.tensor };
  if ('graph' in value) return { name, type: ATTRIBUTE_TYPE.graph, g: value.graph };
  return { name, type: ATTRIBUTE_TYPE.ints, ints: [...value] };
}

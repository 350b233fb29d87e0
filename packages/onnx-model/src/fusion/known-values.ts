/**
 * What a graph says about its values before it runs: the elements of small constants, sizes of tensors, and what exporters compute from both, such as
 * the scale of an attention, which is 1 / sqrt(the last dimension of the queries). Everything else is unknown, which is never an error.
 */
import { toFloat32 } from '../half.ts';
import { DATA_TYPE, type NodeProto, type TensorProto, toNumber } from '../schema.ts';
import type { GraphIndex } from './graph-index.ts';

/** Sizes of a tensor; undefined where a dimension depends on the inputs of the graph. */
export type Dims = readonly (number | undefined)[];

/** The elements of a tensor of rank 0 or 1; undefined where one depends on the inputs of the graph. */
interface Elements {
  readonly values: readonly (number | undefined)[];
  /** Whether a division of two of them rounds. */
  readonly isInteger: boolean;
}

export class KnownValues {
  readonly #index: GraphIndex;
  readonly #elements = new Map<string, Elements | undefined>();
  readonly #dims = new Map<string, Dims | undefined>();
  readonly #lastDims = new Map<string, number | undefined>();

  constructor(index: GraphIndex) {
    this.#index = index;
  }

  /** The number that this value always is: of rank 0, or the only element of a tensor. */
  scalar(value: string): number | undefined {
    const elements = this.elements(value);
    return elements?.length === 1 ? elements[0] : undefined;
  }

  elements(value: string): readonly (number | undefined)[] | undefined {
    return this.#elementsOf(value)?.values;
  }

  /** Undefined when not even the rank is known. */
  dims(value: string): Dims | undefined {
    if (!this.#dims.has(value)) this.#dims.set(value, this.#findDims(value));
    return this.#dims.get(value);
  }

  /** The last dimension, which may be known where the number of dimensions is not. */
  lastDim(value: string): number | undefined {
    if (!this.#lastDims.has(value)) this.#lastDims.set(value, this.#findLastDim(value));
    return this.#lastDims.get(value);
  }

  #findLastDim(value: string): number | undefined {
    const known = this.dims(value)?.at(-1);
    const node = known ? undefined : this.#index.producer(value);
    if (!node || node.domain) return known;
    const [first = '', second = ''] = node.input ?? [];
    if (node.opType === 'MatMul') return this.lastDim(second);
    if (ELEMENTWISE.includes(node.opType ?? '')) {
      const sizes = [this.lastDim(first), this.lastDim(second)];
      return sizes.find((size) => size !== undefined && size > 1);
    }
    return SAME_SHAPE.includes(node.opType ?? '') ? this.lastDim(first) : undefined;
  }

  /** TensorProto.DataType of a floating-point value, by the weights and Casts that it is computed with. */
  floatType(value: string): number | undefined {
    let at = value;
    for (let hops = 0; hops < MAX_HOPS; hops += 1) {
      const type = this.#storedType(at);
      if (type !== undefined) return FLOAT_TYPES.includes(type) ? type : undefined;
      const node = this.#index.producer(at);
      if (!node) return undefined;
      if (node.opType === 'Cast') return toNumber(attribute(node, 'to')?.i);
      const inputs = node.input ?? [];
      at = inputs.find((input) => FLOAT_TYPES.includes(this.#storedType(input) ?? 0)) ?? inputs[0] ?? '';
    }
    return undefined;
  }

  /** Of a weight, a constant or an input of the graph. */
  #storedType(value: string): number | undefined {
    const constant = this.#index.producedBy(value, 'Constant');
    return (
      this.#index.weight(value)?.dataType ??
      this.#index.input(value)?.type?.tensorType?.elemType ??
      (constant && attribute(constant, 'value')?.t?.dataType) ??
      undefined
    );
  }

  #elementsOf(value: string): Elements | undefined {
    if (!this.#elements.has(value)) this.#elements.set(value, this.#findElements(value));
    return this.#elements.get(value);
  }

  #findElements(value: string): Elements | undefined {
    const weight = this.#index.weight(value);
    if (weight) return readElements(weight);
    const node = this.#index.producer(value);
    if (!node || node.domain) return undefined;
    const [first = '', second = ''] = node.input ?? [];
    switch (node.opType) {
      case 'Constant':
        return readElements(attribute(node, 'value')?.t);
      case 'Shape':
        return this.#shapeElements(node, first);
      case 'Gather':
        return this.#gathered(node, first, second);
      case 'Slice':
        return this.#sliced(node, first);
      case 'Concat':
        return joined((node.input ?? []).map((each) => this.#elementsOf(each)));
      case 'Unsqueeze':
      case 'Squeeze':
      case 'Identity':
        return this.#elementsOf(first);
      case 'Cast':
        return cast(this.#elementsOf(first), toNumber(attribute(node, 'to')?.i));
      case 'Sqrt':
        return mapped(this.#elementsOf(first), Math.sqrt);
      default:
        return combined(node.opType ?? '', this.#elementsOf(first), this.#elementsOf(second));
    }
  }

  #shapeElements(node: NodeProto, of: string): Elements | undefined {
    const dims = this.dims(of);
    const start = toNumber(attribute(node, 'start')?.i);
    const end = attribute(node, 'end');
    return dims && { values: dims.slice(start, end ? toNumber(end.i) : undefined), isInteger: true };
  }

  /** From a list, whose axis can only be 0. Of a Shape, the number of elements that are picked is known even where the elements are not. */
  #gathered(node: NodeProto, from: string, at: string): Elements | undefined {
    const elements = this.#elementsOf(from);
    if (toNumber(attribute(node, 'axis')?.i) !== 0) return undefined;
    return elements || this.#index.producedBy(from, 'Shape') ? pick(elements, this.elements(at)) : undefined;
  }

  /** Of a list, from its start to its end, one by one. */
  #sliced({ input }: NodeProto, from: string): Elements | undefined {
    const elements = this.#elementsOf(from);
    const [, start = '', end = '', axis = '', step = ''] = input ?? [];
    const [first, last] = [this.scalar(start), this.scalar(end)];
    const isPlain = (axis === '' || this.scalar(axis) === 0) && (step === '' || this.scalar(step) === 1);
    if (!elements || first === undefined || last === undefined || !isPlain) return undefined;
    return { ...elements, values: elements.values.slice(first, last) };
  }

  #findDims(value: string): Dims | undefined {
    const weight = this.#index.weight(value);
    if (weight) return (weight.dims ?? []).map(toNumber);
    const declared = this.#index.input(value)?.type?.tensorType?.shape?.dim;
    if (declared) return declared.map(({ dimValue }) => toNumber(dimValue) || undefined);
    const node = this.#index.producer(value);
    if (!node || node.domain) return undefined;
    const [first = '', second = ''] = node.input ?? [];
    switch (node.opType) {
      case 'Constant':
        return attribute(node, 'value')?.t?.dims?.map(toNumber);
      case 'MatMul':
        return product(this.dims(first), this.dims(second));
      case 'Reshape':
        return this.elements(second)?.map((size) => (size && size > 0 ? size : undefined));
      case 'Transpose':
        return permuted(this.dims(first), permutation(node));
      default:
        if (ELEMENTWISE.includes(node.opType ?? '')) return broadcast(this.dims(first), this.dims(second));
        if (keepsRank(node)) return this.dims(first)?.map(() => undefined);
        return SAME_SHAPE.includes(node.opType ?? '') ? this.dims(first) : undefined;
    }
  }
}

/** A damaged file may have nodes in a circle. */
const MAX_HOPS = 1000;
const FLOAT_TYPES: readonly number[] = [DATA_TYPE.float32, DATA_TYPE.float16];
const ELEMENTWISE = ['Add', 'Sub', 'Mul', 'Div'];
const SAME_SHAPE = 'Identity Cast LayerNormalization Softmax Sigmoid Erf Gelu Tanh Relu Sqrt Pow'.split(' ');

const keepsRank = (node: NodeProto): boolean =>
  node.opType === 'Slice' ||
  node.opType === 'Split' ||
  (node.opType === 'ReduceMean' && (attribute(node, 'keepdims')?.i ?? 1) !== 0);

export const attribute = (node: NodeProto, name: string) =>
  node.attribute?.find((each) => each.name === name);

/** Of a Transpose; undefined for the default, which turns all dimensions around. */
export const permutation = (node: NodeProto): number[] | undefined =>
  attribute(node, 'perm')?.ints?.map(toNumber);

const INTEGERS: readonly number[] = [DATA_TYPE.int64, DATA_TYPE.int32];
/** Longer ones are weights, of which nothing here asks: a group normalization has 32 groups. */
const MAX_ELEMENTS = 64;

/** Undefined for a longer list, for a table, and for values that are in another file. */
function readElements(tensor: TensorProto | null | undefined): Elements | undefined {
  const size = tensor?.dims?.length ? toNumber(tensor.dims[0]) : 1;
  if (!tensor || (tensor.dims?.length ?? 0) > 1 || size > MAX_ELEMENTS) return undefined;
  const elements = storedElements(tensor);
  return elements?.values.length === size ? elements : undefined;
}

function storedElements(tensor: TensorProto): Elements | undefined {
  const isInteger = INTEGERS.includes(tensor.dataType ?? 0);
  const raw = tensor.rawData?.length ? Uint8Array.from(tensor.rawData).buffer : undefined;
  switch (tensor.dataType) {
    case DATA_TYPE.int64: {
      const values = raw ? [...new BigInt64Array(raw)].map(Number) : (tensor.int64Data ?? []).map(toNumber);
      return { values, isInteger };
    }
    case DATA_TYPE.int32:
      return { values: raw ? [...new Int32Array(raw)] : (tensor.int32Data ?? []), isInteger };
    case DATA_TYPE.float32:
      return { values: raw ? [...new Float32Array(raw)] : (tensor.floatData ?? []), isInteger };
    case DATA_TYPE.float16:
      return raw && { values: [...toFloat32(new Uint16Array(raw))], isInteger };
    default:
      return undefined;
  }
}

function pick(
  from: Elements | undefined,
  at: readonly (number | undefined)[] | undefined,
): Elements | undefined {
  const values = at?.map((i) => (i === undefined ? undefined : from?.values.at(i)));
  return values && { values, isInteger: from?.isInteger ?? true };
}

function joined(parts: readonly (Elements | undefined)[]): Elements | undefined {
  const known = parts.flatMap((part) => part ?? []);
  if (known.length < parts.length) return undefined;
  return {
    values: known.flatMap(({ values }) => values),
    isInteger: known.every(({ isInteger }) => isInteger),
  };
}

const mapped = (from: Elements | undefined, change: (x: number) => number): Elements | undefined =>
  from && { isInteger: false, values: from.values.map((x) => (x === undefined ? undefined : change(x))) };

function cast(from: Elements | undefined, to: number): Elements | undefined {
  const isInteger = INTEGERS.includes(to);
  const changed = mapped(from, isInteger ? Math.trunc : (x) => x);
  return changed && { ...changed, isInteger };
}

const ARITHMETIC: Readonly<Record<string, (a: number, b: number) => number>> = {
  Add: (a, b) => a + b,
  Sub: (a, b) => a - b,
  Mul: (a, b) => a * b,
  Div: (a, b) => a / b,
  Pow: (a, b) => a ** b,
};

function combined(opType: string, a: Elements | undefined, b: Elements | undefined): Elements | undefined {
  const compute = ARITHMETIC[opType];
  if (!compute || a?.values.length !== 1 || b?.values.length !== 1) return undefined;
  const [[x], [y]] = [a.values, b.values];
  const isInteger = a.isInteger && b.isInteger;
  if (x === undefined || y === undefined) return { values: [undefined], isInteger };
  const value = compute(x, y);
  return { values: [isInteger ? Math.trunc(value) : value], isInteger };
}

const product = (a: Dims | undefined, b: Dims | undefined): Dims | undefined =>
  a && b && a.length >= b.length ? [...a.slice(0, -1), b.at(-1)] : undefined;

function broadcast(a: Dims | undefined, b: Dims | undefined): Dims | undefined {
  if (!a || !b) return undefined;
  const [long, short] = a.length >= b.length ? [a, b] : [b, a];
  const lead = long.length - short.length;
  return long.map((size, i) => {
    const other = i < lead ? 1 : short[i - lead];
    if (size === other) return size;
    if (size === undefined) return other === 1 ? undefined : other;
    return size === 1 ? other : size;
  });
}

const permuted = (dims: Dims | undefined, order: readonly number[] | undefined): Dims | undefined =>
  dims && (order ? order.map((axis) => dims[axis]) : [...dims].reverse());

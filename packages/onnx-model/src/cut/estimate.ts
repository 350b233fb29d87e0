/**
 * What running a graph of convolutions costs, node by node, without running it. The size of the input is not known, so its height and width
 * count as 1, and every other size is a multiple of it: only shares of the cost mean something.
 */
import { GraphIndex, readBy } from '../fusion/graph-index.ts';
import { attribute, KnownValues } from '../fusion/known-values.ts';
import { type NodeProto, toNumber, type ValueInfoProto } from '../schema.ts';
import type { StoredModel } from '../stored-model.ts';

/** Of a value, as far as the nodes before it tell. */
export interface ValueEstimate {
  readonly elements: number;
  readonly rank?: number | undefined;
  /** TensorProto.DataType. */
  readonly type?: number | undefined;
}

/**
 * Reading and writing an element takes as long as so many multiplications: on a T4 in float16 about 100 (300 GB/s, 7.5 T multiplications), on a CPU
 * core with AVX-512 about 80.
 */
const ELEMENT_COST = 100;
/** They only give the same elements another shape or name. */
const VIEWS = ['Reshape', 'Identity', 'Squeeze', 'Unsqueeze', 'Flatten', 'Shape', 'Constant'];

export class Estimate {
  readonly #known: KnownValues;
  readonly #values = new Map<string, ValueEstimate>();
  readonly #declared: ReadonlyMap<string, ValueInfoProto>;

  constructor(stored: StoredModel) {
    this.#known = new KnownValues(new GraphIndex(stored));
    this.#declared = new Map(stored.graph.valueInfo?.map((value) => [value.name ?? '', value]));
    for (const input of stored.graph.input ?? []) {
      const channels = toNumber(input.type?.tensorType?.shape?.dim?.[1]?.dimValue) || 1;
      this.#values.set(input.name ?? '', { elements: channels, ...declaredOf(input) });
    }
  }

  of(value: string): ValueEstimate {
    return this.#values.get(value) ?? { elements: 0 };
  }

  /** The cost of the node; those that make what it reads must have been visited before it. */
  visit(node: NodeProto): number {
    const inputs = readBy(node).flatMap((name) => this.#values.get(name) ?? []);
    const largest = Math.max(0, ...inputs.map(({ elements }) => elements));
    const { elements, products } = this.#sizeOf(node, largest);
    const rank = this.#rankOf(node, Math.max(0, ...inputs.map((input) => input.rank ?? 0)) || undefined);
    const type = this.#typeOf(node, inputs[0]?.type);
    for (const output of node.output ?? []) {
      const declared = this.#declared.get(output);
      this.#values.set(output, { elements, rank, type, ...(declared && declaredOf(declared)) });
    }
    return VIEWS.includes(node.opType ?? '') ? 0 : elements * (products + ELEMENT_COST);
  }

  /** Elements of the result, and multiplications for each of them. */
  #sizeOf(node: NodeProto, largest: number): { readonly elements: number; readonly products: number } {
    const [first = '', second = ''] = node.input ?? [];
    const sizes = (this.#known.dims(second) ?? []).map((size) => size ?? 1);
    const weights = sizes.reduce((product, size) => product * size, 1);
    const from = this.of(first).elements;
    const strides = (attribute(node, 'strides')?.ints ?? []).reduce<number>(
      (all, by) => all * toNumber(by),
      1,
    );
    if (node.opType?.endsWith('Conv') && sizes.length > 2) {
      const [outputs] = sizes;
      const inputsOfGroup = node.opType === 'NhwcConv' ? sizes[sizes.length - 1] : sizes[1];
      const groups = toNumber(attribute(node, 'group')?.i) || 1;
      const elements = ((from / (inputsOfGroup * groups)) * outputs) / strides;
      return { elements, products: weights / outputs };
    }
    if (node.opType === 'ConvTranspose' && sizes.length > 2) {
      const elements = (from / sizes[0]) * sizes[1] * strides;
      return { elements, products: weights / sizes[1] / strides };
    }
    if (node.opType === 'MatMul' && sizes.length === 2) {
      return { elements: (from / sizes[0]) * sizes[1], products: sizes[0] };
    }
    return { elements: this.#elementsOf(node, largest), products: 0 };
  }

  #elementsOf({ opType = '', input = [], output = [] }: NodeProto, largest: number): number {
    if (opType === 'Resize' || opType === 'Upsample') {
      const scales = this.#known.elements(input?.[opType === 'Resize' ? 2 : 1] ?? '');
      const factor = scales?.reduce<number>((all, scale) => all * (scale ?? 1), 1);
      return largest * (factor || DOUBLED);
    }
    if (opType === 'Concat') return (input ?? []).reduce((sum, each) => sum + this.of(each).elements, 0);
    if (opType === 'Split') return largest / (output?.length || 1);
    return opType?.startsWith('Reduce') || opType === 'Shape' ? 0 : largest;
  }

  #typeOf(node: NodeProto, ofInput: number | undefined): number | undefined {
    if (node.opType === 'Cast') return toNumber(attribute(node, 'to')?.i);
    if (node.opType === 'DequantizeLinear') return this.#known.floatType(node.input?.[1] ?? '');
    return node.opType?.endsWith('QuantizeLinear') ? undefined : ofInput;
  }

  #rankOf(node: NodeProto, ofInputs: number | undefined): number | undefined {
    const [, second = ''] = node.input ?? [];
    if (node.opType?.includes('Conv')) return this.#known.dims(second)?.length ?? ofInputs;
    return RESHAPING.includes(node.opType ?? '') ? this.#known.elements(second)?.length : ofInputs;
  }
}

/** Resize to sizes that the graph computes: decoders double height and width. */
const DOUBLED = 4;
/** The rank of the result is not that of what they read. */
const RESHAPING = ['Reshape', 'Squeeze', 'Unsqueeze', 'Flatten', 'Expand', 'Shape', 'Gather'];

function declaredOf({ type }: ValueInfoProto): Partial<ValueEstimate> {
  const { elemType, shape } = type?.tensorType ?? {};
  return { ...(elemType && { type: elemType }), ...(shape?.dim && { rank: shape.dim.length }) };
}

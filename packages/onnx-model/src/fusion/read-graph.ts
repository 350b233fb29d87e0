/** What patterns ask of a graph. */
import { type NodeProto, toNumber } from '../schema.ts';
import type { StoredModel } from '../stored-model.ts';
import { GraphIndex } from './graph-index.ts';
import { KnownValues } from './known-values.ts';
import type { Replacement } from './replace-nodes.ts';

export interface Weight {
  readonly name: string;
  readonly dims: readonly number[];
}

/** Finds the parts of a graph that one operator can compute, and says what takes their place. Changes nothing. */
export type Pattern = (graph: ReadGraph) => Replacement[];

export class ReadGraph {
  readonly nodes: readonly NodeProto[];
  readonly index: GraphIndex;
  readonly known: KnownValues;
  /** Of ONNX's own operators. */
  readonly opset: number;

  constructor(stored: StoredModel) {
    this.nodes = stored.graph.node ?? [];
    this.index = new GraphIndex(stored);
    this.known = new KnownValues(this.index);
    this.opset = toNumber(stored.model.opsetImport?.find(({ domain }) => !domain)?.version);
  }

  /** The nodes of this operator of ONNX itself. */
  all(opType: string): NodeProto[] {
    return this.nodes.filter((node) => isOperator(node, opType));
  }

  /** The weight that this value is: exporters name one that several layers share once for each. */
  weight(value: string | undefined): Weight | undefined {
    const same = this.index.producedBy(value ?? '', 'Identity')?.input?.[0];
    const name = same ?? value ?? '';
    const weight = this.index.weight(name);
    return weight && { name, dims: (weight.dims ?? []).map(toNumber) };
  }

  /** Of a node with two inputs, in any order: one that is a weight with such dimensions, and the other. */
  withWeight(
    { input }: NodeProto,
    isWanted: (dims: readonly number[]) => boolean,
  ): { readonly weight: Weight; readonly other: string } | undefined {
    const [a = '', b = ''] = input ?? [];
    const [first, second] = [this.weight(a), this.weight(b)];
    if (first && isWanted(first.dims)) return { weight: first, other: b };
    return second && isWanted(second.dims) ? { weight: second, other: a } : undefined;
  }

  /** Whether the value is [batch, channels, height, width] for sure: computed, element by element, with what a convolution makes. */
  isImage(value: string, hops = MAX_HOPS): boolean {
    const dims = this.known.dims(value);
    const made = this.index.producer(value);
    if (dims) return dims.length === 4;
    if (!made || made.domain || hops === 0) return false;
    if (made.opType === 'Conv') return this.weight(made.input?.[1])?.dims.length === 4;
    const kept = KEEPS_RANK.includes(made.opType ?? '') ? (made.input ?? []) : [];
    return kept.some((each) => this.isImage(each, hops - 1));
  }

  /** What a value is before divisions by one, which diffusers makes of a scale that is not used. */
  beforeOnes(value: string): string {
    const divided = this.index.producedBy(value, 'Div');
    const [of = '', by = ''] = divided?.input ?? [];
    return divided && this.known.scalar(by) === 1 ? this.beforeOnes(of) : value;
  }
}

const MAX_HOPS = 6;
/** Of their first input, or of any: what is added to an image is one, or has no more dimensions. */
const KEEPS_RANK = 'Add Sub Mul Div Concat Sigmoid GroupNormalization'.split(' ');

export const isOperator = (node: NodeProto | undefined, opType: string): node is NodeProto =>
  node?.opType === opType && !node.domain;

export const isOneDimension = (dims: readonly number[]): boolean => dims.length === 1;

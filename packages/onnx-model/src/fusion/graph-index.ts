/** A graph by its values: the node that makes each one, and the nodes that read it. */
import type { GraphProto, NodeProto, TensorProto, ValueInfoProto } from '../schema.ts';
import type { StoredModel } from '../stored-model.ts';

export class GraphIndex {
  readonly #producers = new Map<string, NodeProto>();
  readonly #readers = new Map<string, NodeProto[]>();
  readonly #weights: ReadonlyMap<string, TensorProto>;
  readonly #inputs: ReadonlyMap<string, ValueInfoProto>;
  readonly #outputs: ReadonlySet<string>;

  constructor({ graph, initializers }: StoredModel) {
    this.#weights = new Map(initializers.map(({ tensor }) => [tensor.name ?? '', tensor]));
    this.#inputs = new Map(graph.input?.map((input) => [input.name ?? '', input]));
    this.#outputs = new Set(graph.output?.map(({ name }) => name ?? ''));
    for (const node of graph.node ?? []) {
      for (const output of node.output ?? []) this.#producers.set(output, node);
      for (const input of readBy(node)) {
        const known = this.#readers.get(input);
        if (known) known.push(node);
        else this.#readers.set(input, [node]);
      }
    }
  }

  /** Undefined for inputs and weights of the graph. */
  producer(value: string): NodeProto | undefined {
    return this.#producers.get(value);
  }

  /** The producer, if it is an operator of this type of ONNX itself. */
  producedBy(value: string, opType: string): NodeProto | undefined {
    const node = this.#producers.get(value);
    return node?.opType === opType && !node.domain ? node : undefined;
  }

  /** The node that reads this value, if there is exactly one and the value is no output of the graph. */
  onlyReader(value: string): NodeProto | undefined {
    const readers = this.#readers.get(value) ?? [];
    return readers.length === 1 && !this.#outputs.has(value) ? readers[0] : undefined;
  }

  readers(value: string): readonly NodeProto[] {
    return this.#readers.get(value) ?? [];
  }

  isOutput(value: string): boolean {
    return this.#outputs.has(value);
  }

  weight(value: string): TensorProto | undefined {
    return this.#weights.get(value);
  }

  input(value: string): ValueInfoProto | undefined {
    return this.#inputs.get(value);
  }
}

/** The inputs of a node, and what its branches take from the graph around them. */
export function readBy(node: NodeProto): string[] {
  const branches = (node.attribute ?? []).flatMap(({ g, graphs }) => [g, ...(graphs ?? [])]);
  return [...(node.input ?? []), ...branches.flatMap((branch) => (branch ? capturedBy(branch) : []))];
}

/** Names that the branch makes itself are in the list too; names are unique in a model, so they match nothing outside. */
const capturedBy = ({ node, output }: GraphProto): string[] => [
  ...(node ?? []).flatMap(readBy),
  ...(output ?? []).map(({ name }) => name ?? ''),
];

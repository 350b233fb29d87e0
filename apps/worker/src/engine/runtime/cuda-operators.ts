/** Which of the operators that ONNX Runtime has on CUDA only a graph is opened with. */
import { fuseForCuda } from '@lehr/onnx-model';
import { readGraph, rewrittenSource } from './external-data.ts';
import type { Opening } from './fused-session.ts';
import type { CudaFusion, GraphSource, RuntimeSession } from './runtime.ts';

/** A graph opens anew without each of them, which takes seconds. */
const MOST_LEFT = 3;

/** Names of nodes, by operator. */
type Written = ReturnType<typeof fuseForCuda>;

/** Those that it can have, without the nodes that ONNX Runtime refuses by name. */
export class CudaOperators {
  readonly #graph: GraphSource;
  readonly #open: Opening['open'];
  readonly #left = new Map<string, { readonly operator: string; readonly reason: string }>();
  #written: Written = {};
  /** Before any was left. */
  #all: Written | undefined;
  #problem: string | undefined;

  constructor(graph: GraphSource, open: Opening['open']) {
    this.#graph = graph;
    this.#open = open;
  }

  /** Undefined where the graph can have none. */
  get fusion(): CudaFusion | undefined {
    const left = Object.fromEntries(
      [...this.#left.values()].map(({ operator, reason }) => [reason, operator]),
    );
    const operators = Object.fromEntries(
      Object.entries(this.#written).map(([operator, names]) => [operator, names.length]),
    );
    if (Object.keys(operators).length + this.#left.size === 0 && !this.#problem) return undefined;
    return {
      operators,
      ...(this.#left.size > 0 && { left }),
      ...(this.#problem !== undefined && { problem: this.#problem }),
    };
  }

  /** Throws what opening the graph with the operators throws, if it cannot do without the node that this names. */
  async open(): Promise<RuntimeSession> {
    const source = this.#rewrite();
    try {
      return await this.#open(source);
    } catch (error) {
      if (!this.leave(error)) throw error;
      return this.open();
    }
  }

  /** Whether the error names a node that the graph can do without: from its next opening on, what it stands for is as exported. */
  leave(error: unknown): boolean {
    const reason = error instanceof Error ? error.message : String(error);
    const named = Object.entries(this.#written).flatMap(([operator, names]) =>
      names.filter((name) => reason.includes(name)).map((name) => ({ operator, name })),
    );
    // The name of another node may begin with the same words.
    const [node] = named.sort((a, b) => b.name.length - a.name.length);
    if (!node || this.#left.size === MOST_LEFT) return false;
    this.#left.set(node.name, { operator: node.operator, reason });
    return true;
  }

  /** The graph has none of them, for this reason. */
  giveUp(problem: string): void {
    this.#problem = problem;
    this.#left.clear();
    this.#written = this.#all ?? {};
  }

  #rewrite(): GraphSource {
    const stored = readGraph(this.#graph);
    this.#written = fuseForCuda(stored, new Set(this.#left.keys()));
    this.#all ??= this.#written;
    return Object.keys(this.#written).length > 0 ? rewrittenSource(this.#graph, stored) : this.#graph;
  }
}

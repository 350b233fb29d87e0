/**
 * The seam between the engine and whatever runs graphs. Filled by ONNX Runtime (onnx.ts) and by a simulated
 * device with a stated latency model (simulated.ts), which benchmarks and queue tests use.
 */
import type { ElementType, Tensor } from './tensor.ts';

/** An execution provider of ONNX Runtime, in the words of LEHR_DEVICE. */
export type Provider = 'cuda' | 'tensorrt' | 'webgpu' | 'cpu';

export interface ValueInfo {
  readonly name: string;
  readonly type: ElementType;
  /** A number where the graph fixes the dimension, a name (possibly empty) where it is free, `[]` for a scalar. */
  readonly dims: readonly (number | string)[];
}

export interface GraphSource {
  /** The ONNX file. External data is looked up beside it. */
  readonly path: string;
  /** The graph's bytes when they were rewritten at load (see models/rewire.ts); `path` still says where its data lies. */
  readonly bytes?: Uint8Array;
}

export interface LoadOptions {
  /** Providers in the order to try. The session says which one it got; it is never silently another. */
  readonly providers: readonly Provider[];
  /** Threads of one graph run on the CPU provider; the machine's cores when absent. */
  readonly threads?: number;
  /** Find out in the first run where each node ran. Default: on every provider but cpu, where the answer is known. */
  readonly reportPlacement?: boolean;
}

/** How many nodes of a graph each provider ran: a GPU session may leave some on the CPU, and says so here. */
export type Placement = Readonly<Record<string, number>>;

export interface RuntimeSession {
  readonly provider: Provider | 'simulated';
  /** Why the providers before it in the list did not take the graph: `cuda: ...`. */
  readonly refusals: readonly string[];
  readonly inputs: readonly ValueInfo[];
  readonly outputs: readonly ValueInfo[];
  /** Known after the first run, where it was asked for. */
  readonly placement: Placement | undefined;
  /**
   * Runs the graph once and gives all outputs, or only the named ones. Blocks this JavaScript thread while the device
   * works (onnxruntime-node does), which is why sessions live in the engine's own process. The feeds' arrays are read
   * until the promise settles and may be used again then. Throws LehrError `out-of-memory` or `engine-failed`, and
   * `model-unavailable` when the first run shows that no node ran on the provider asked for.
   */
  run(feeds: Readonly<Record<string, Tensor>>, outputs?: readonly string[]): Promise<Record<string, Tensor>>;
  /** Frees device memory. The session cannot run afterwards. Safe to call twice. */
  close(): Promise<void>;
}

export interface InferenceRuntime {
  /** Throws LehrError `model-unavailable` when no provider of the list can take the graph. */
  load(graph: GraphSource, options: LoadOptions): Promise<RuntimeSession>;
}

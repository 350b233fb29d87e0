/**
 * The interface between the engine and what runs its graphs. Implemented by ONNX Runtime (onnx.ts) and by a simulated
 * device with a given latency model (simulated.ts), for benchmarks and queue tests.
 */
import type { Optimization } from '@lehr/shared';
import type { ElementType, Tensor } from './tensor.ts';

/** An execution provider of ONNX Runtime, as LEHR_DEVICE names it. */
export type Provider = 'cuda' | 'tensorrt' | 'webgpu' | 'cpu';

export interface ValueInfo {
  readonly name: string;
  readonly type: ElementType;
  /** A number for a fixed dimension, a name (possibly empty) for a free one; `[]` for a scalar. */
  readonly dims: readonly (number | string)[];
}

export interface GraphSource {
  /** The ONNX file. External data is looked up beside it. */
  readonly path: string;
  /** The graph's bytes when they were rewritten at load, for batches or for the processor; its data is still beside `path`. */
  readonly bytes?: Uint8Array;
  /** Set when `path` is a file that `lehr models prepare` made from another one (models/prepared). */
  readonly prepared?: { readonly from: string; readonly isRewired: boolean };
}

export interface LoadOptions {
  /** Providers in the order to try. `RuntimeSession.provider` says which one was taken. */
  readonly providers: readonly Provider[];
  /** Threads of one graph run on the CPU provider; as many as cores when absent. */
  readonly threads?: number;
  /**
   * Whether these threads keep their cores busy for a while after each piece of work, in case more comes (default true). Without it they
   * do so for microseconds, and leave the cores to the other processes of the machine; on an idle machine a run takes a few percent longer.
   */
  readonly spin?: boolean;
  /** How far ONNX Runtime rewrites the graph at load. Default: `all`. */
  readonly optimization?: Optimization;
  /** Also saves the graph as it was optimised to this path, and its weights beside it as `<path>.data`. */
  readonly saveOptimized?: string;
  /** Whether parts are rewritten to fused operators, or attentions only. Default: true, but for `optimization: 'disabled'`. */
  readonly fuses?: boolean | 'attentions';
  /**
   * Opens the graph in pieces of which each takes at most this share of its time, as far as it can be cut so finely (pieced-session.ts). Fails where
   * it cannot be cut. Default: whole.
   */
  readonly largestPiece?: number;
  /** Profile the first run to see where each node ran. Default: true on every provider but cpu. */
  readonly reportPlacement?: boolean;
}

/** Nodes of a graph by the provider that ran them: a GPU session may leave some on the CPU. */
export type Placement = Readonly<Record<string, number>>;

/** What became of the parts of a graph that fused operators can compute, when it was loaded. */
export interface Fusion {
  /** As many of them are fused. */
  readonly attentions: number;
  /** How many are as in the file, by the reason. */
  readonly left: Readonly<Record<string, number>>;
  /** On CUDA, where the graph has what one of its operators can compute. */
  readonly cuda?: CudaFusion;
}

/** The operators that ONNX Runtime has on CUDA only (cuda-session.ts). */
export interface CudaFusion {
  /** How many nodes of each the graph has, or with a problem could have. */
  readonly operators: Readonly<Record<string, number>>;
  /** The operator of each part that is as in the file, by the reason, which names the part. */
  readonly left?: Readonly<Record<string, string>>;
  /** Why it has none of them. */
  readonly problem?: string;
}

export interface RuntimeSession {
  readonly provider: Provider | 'simulated';
  /** Why the providers before it in the list did not take the graph: `cuda: ...`. */
  readonly refusals: readonly string[];
  readonly inputs: readonly ValueInfo[];
  readonly outputs: readonly ValueInfo[];
  /** Whether it was loaded from what `lehr models prepare` has kept. */
  readonly isPrepared?: boolean;
  /** Absent where the graph has nothing to fuse, or nothing was to be fused. */
  readonly fusion?: Fusion;
  /** Absent where it was opened whole. */
  readonly pieces?: number;
  /** Known after the first run, if `reportPlacement` was set. */
  readonly placement: Placement | undefined;
  /**
   * Runs the graph once and returns all outputs, or only the named ones. Blocks this JavaScript thread while the device
   * works (onnxruntime-node does), which is why sessions live in a separate engine process. The arrays of the feeds must
   * not change until the promise settles. Throws LehrError `out-of-memory` or `engine-failed`, and `model-unavailable`
   * when the first run shows that no node ran on the session's provider.
   */
  run(feeds: Readonly<Record<string, Tensor>>, outputs?: readonly string[]): Promise<Record<string, Tensor>>;
  /** As `run`, with a yield between two pieces, if it was opened in pieces: there, other sessions may run. */
  runInPieces?(
    feeds: Readonly<Record<string, Tensor>>,
    outputs?: readonly string[],
  ): AsyncGenerator<void, Record<string, Tensor>>;
  /** Frees device memory. The session cannot run afterwards. May be called twice. */
  close(): Promise<void>;
}

export interface InferenceRuntime {
  /** Of ONNX Runtime; absent for a simulated device. */
  readonly version?: string;
  /** Throws LehrError `model-unavailable` when no provider of the list accepts the graph. */
  load(graph: GraphSource, options: LoadOptions): Promise<RuntimeSession>;
  /** The rewired form of this graph, when it was prepared and is still the same model. */
  rewired?(path: string): Promise<Uint8Array | undefined>;
}

/** In how many pieces a graph runs that takes longer than a turn may. */
export interface CutReport {
  readonly pieces: number;
  /** Why it is whole. */
  readonly reason?: string;
}

/** Where a graph runs, as the session reports it after its first run. */
export interface GraphReport {
  readonly graph: string;
  readonly provider: RuntimeSession['provider'];
  /** Nodes by provider, on a GPU. */
  readonly placement?: Placement;
  /** Why the providers before it in the list did not accept the graph; absent when it was the first. */
  readonly refusals?: readonly string[];
  /** Loaded from what `lehr models prepare` has kept. */
  readonly prepared?: true;
  readonly fusion?: Fusion;
  /** Absent where a run of the whole graph is short. */
  readonly cut?: CutReport;
}

/**
 * How rows share runs of a UNet or a decoder. `rows`: each row of a run is at its own step, or at its own position in its
 * text. `aligned`: all rows of a run must be at the same one; `reason` says why.
 */
export type Batching = { readonly mode: 'rows' } | { readonly mode: 'aligned'; readonly reason: string };

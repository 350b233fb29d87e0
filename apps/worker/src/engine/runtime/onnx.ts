/** ONNX Runtime as an InferenceRuntime. The only file that imports onnxruntime-node. */
import { basename, dirname } from 'node:path';
import { LehrError } from '@lehr/shared';
import { env, InferenceSession, Tensor as OrtTensor } from 'onnxruntime-node';
import { openForCuda } from './cuda-session.ts';
import { EXACT_INT8, withExactBranches } from './exact-int8.ts';
import { checkExternalData } from './external-data.ts';
import { checkPlacement, FirstRunProfile } from './first-run-profile.ts';
import { openFused } from './fused-session.ts';
import { checkFeeds } from './graph-values.ts';
import { openPieces } from './pieced-session.ts';
import { missingLibrary } from './provider-library.ts';
import type {
  GraphSource,
  InferenceRuntime,
  LoadOptions,
  Placement,
  Provider,
  RuntimeSession,
  ValueInfo,
} from './runtime.ts';
import type { ElementType, Tensor } from './tensor.ts';

// Errors of a session are thrown, and Lehr reports them. But why a provider's library does not load is only logged, at
// this level.
env.logLevel = 'error';
const FATAL_ONLY = 4;

// On Linux and macOS, ONNX Runtime from 1.29 on reports every process and its models to Microsoft, and keeps an identifier of the machine and
// unsent reports in the home folder. It reads this variable before it opens the first session.
// biome-ignore lint/style/noProcessEnv: written, not read; the library reads this setting only from the environment.
process.env.ORT_DISABLE_TELEMETRY = '1';

keepHalfPrecisionAsBits();

export const onnxRuntime: InferenceRuntime = {
  version: env.versions.node ?? 'unknown',
  async load(graph, options) {
    checkExternalData(graph);
    const exact = withExactBranches(graph);
    const refusals: Error[] = [];
    for (const provider of options.providers) {
      try {
        const missing = missingLibrary(provider);
        if (missing) throw new Error(`its library ${missing} is not installed`);
        const openWhole = (source: GraphSource) => openOn(provider, source, options, reasonsOf(refusals));
        const { largestPiece } = options;
        const open = (source: GraphSource) =>
          largestPiece === undefined ? openWhole(source) : openPieces(source, largestPiece, openWhole);
        if (!isFused(exact, provider, options)) return await open(exact);
        return await openFused(exact, {
          open: isForCuda(provider, options) ? (source) => openForCuda(source, open) : open,
          run: (model, feeds) => runOnce(model, provider, feeds),
        });
      } catch (cause) {
        refusals.push(new Error(`${provider}: ${messageOf(cause)}`, { cause }));
      }
    }
    const reasons = reasonsOf(refusals).join('; ') || 'no provider was asked for';
    throw new LehrError('model-unavailable', `${graph.path} could not be loaded (${reasons}).`, {
      cause: new AggregateError(refusals),
    });
  },
};

const reasonsOf = (refusals: readonly Error[]): string[] => refusals.map(({ message }) => message);

/** TensorRT takes no operators but ONNX's own. A prepared graph is as it was prepared. */
const isFused = (
  { prepared }: GraphSource,
  provider: Provider,
  { optimization, fuses = optimization !== 'disabled' }: LoadOptions,
): boolean => fuses !== false && prepared === undefined && provider !== 'tensorrt';

const isForCuda = (provider: Provider, { fuses }: LoadOptions): boolean =>
  provider === 'cuda' && fuses !== 'attentions';

async function runOnce(
  model: Uint8Array,
  provider: Provider,
  feeds: Readonly<Record<string, Tensor>>,
): Promise<Tensor> {
  const options = {
    executionProviders: [provider],
    logSeverityLevel: FATAL_ONLY,
    intraOpNumThreads: 1,
  } as const;
  const session = await InferenceSession.create(model, options);
  try {
    const wrapped = Object.fromEntries(Object.entries(feeds).map(([name, tensor]) => [name, wrap(tensor)]));
    return unwrap((await session.run(wrapped))[session.outputNames[0]]);
  } finally {
    await session.release();
  }
}

/**
 * Loads on this provider alone: from a list, ONNX Runtime would choose without saying which. Nodes that the provider does
 * not support still run on the CPU; the placement of the first run shows them.
 */
async function openOn(
  provider: Provider,
  graph: GraphSource,
  options: LoadOptions,
  refusals: readonly string[],
): Promise<OnnxSession> {
  const profile = (options.reportPlacement ?? provider !== 'cpu') ? new FirstRunProfile() : undefined;
  const sessionOptions: InferenceSession.SessionOptions = {
    executionProviders: [provider],
    logSeverityLevel: FATAL_ONLY,
    ...(options.threads === undefined ? {} : { intraOpNumThreads: options.threads }),
    ...(options.optimization === undefined ? {} : { graphOptimizationLevel: options.optimization }),
    ...(profile ? { enableProfiling: true, profileFilePrefix: profile.filePrefix } : {}),
    ...(options.saveOptimized === undefined ? {} : { optimizedModelFilePath: options.saveOptimized }),
    extra: {
      session: {
        ...(graph.bytes && dataBeside(graph.path)),
        ...(options.saveOptimized !== undefined && savedWeights(options.saveOptimized)),
        ...spinning(options),
        ...EXACT_INT8,
      },
    },
  };
  try {
    const session = await (graph.bytes
      ? InferenceSession.create(graph.bytes, sessionOptions)
      : InferenceSession.create(graph.path, sessionOptions));
    return new OnnxSession(graph, session, { provider, refusals, profile });
  } catch (error) {
    profile?.remove();
    throw error;
  }
}

/** The folder of the external weights, for a session that is loaded from bytes. */
const dataBeside = (path: string) => ({ model_external_initializers_file_folder_path: dirname(path) });

/** A file of a graph holds at most 2 GiB, so the weights are saved in another one. */
const savedWeights = (path: string) => ({
  optimized_model_external_initializers_file_name: `${basename(path)}.data`,
  optimized_model_external_initializers_min_size_in_bytes: '1024',
});

/**
 * A thread that sleeps between two operators of a run wakes too late for the next one: a run of the demo model's UNet then takes 18 to 26 %
 * longer. This bridges most of these gaps, and leaves the cores to other processes soon after the run (lab/performance.md).
 */
const BRIEF_SPIN_US = '20';

const spinning = ({ spin = true }: LoadOptions) => ({
  intra_op: { allow_spinning: '1', ...(!spin && { spin_duration_us: BRIEF_SPIN_US }) },
});

interface SessionOrigin {
  readonly provider: Provider;
  readonly refusals: readonly string[];
  readonly profile: FirstRunProfile | undefined;
}

class OnnxSession implements RuntimeSession {
  readonly provider: Provider;
  readonly refusals: readonly string[];
  readonly inputs: readonly ValueInfo[];
  readonly outputs: readonly ValueInfo[];
  readonly isPrepared: boolean;
  readonly #path: string;
  #session: InferenceSession | undefined;
  /** Set until the first run has ended. */
  #profile: FirstRunProfile | undefined;
  #placement: Placement | undefined;

  constructor({ path, prepared }: GraphSource, session: InferenceSession, origin: SessionOrigin) {
    this.#path = path;
    this.isPrepared = prepared !== undefined;
    this.#session = session;
    this.#profile = origin.profile;
    this.provider = origin.provider;
    this.refusals = origin.refusals;
    this.inputs = session.inputMetadata.map(toValueInfo);
    this.outputs = session.outputMetadata.map(toValueInfo);
  }

  get placement(): Placement | undefined {
    return this.#placement;
  }

  async run(
    feeds: Readonly<Record<string, Tensor>>,
    outputs?: readonly string[],
  ): Promise<Record<string, Tensor>> {
    const session = this.#session;
    if (!session) throw new LehrError('engine-failed', `${this.#path} was closed.`);
    checkFeeds(this.#path, this.inputs, feeds);
    const results = await this.#runNatively(session, feeds, outputs);
    if (this.#profile) this.#readPlacement(session, this.#profile);
    return results;
  }

  async #runNatively(
    session: InferenceSession,
    feeds: Readonly<Record<string, Tensor>>,
    outputs: readonly string[] | undefined,
  ): Promise<Record<string, Tensor>> {
    const wrapped: Record<string, OrtTensor> = {};
    for (const { name } of this.inputs) wrapped[name] = wrap(feeds[name]);
    try {
      const results = await (outputs ? session.run(wrapped, outputs) : session.run(wrapped));
      return Object.fromEntries(Object.entries(results).map(([name, result]) => [name, unwrap(result)]));
    } catch (cause) {
      const message = messageOf(cause);
      const code = isOutOfMemory(message) ? 'out-of-memory' : 'engine-failed';
      throw new LehrError(code, `${this.#path} failed on ${this.provider}: ${message}`, { cause });
    }
  }

  #readPlacement(session: InferenceSession, profile: FirstRunProfile): void {
    this.#profile = undefined;
    session.endProfiling();
    this.#placement = profile.read();
    checkPlacement(this.#path, this.provider, this.#placement);
  }

  async close(): Promise<void> {
    const session = this.#session;
    this.#session = undefined;
    await session?.release();
    this.#profile?.remove();
    this.#profile = undefined;
  }
}

const ELEMENT_TYPES: readonly string[] = [
  'float32',
  'float16',
  'int64',
  'int32',
  'bool',
] satisfies ElementType[];
const isElementType = (type: string): type is ElementType => ELEMENT_TYPES.includes(type);

function toValueInfo(metadata: InferenceSession.ValueMetadata): ValueInfo {
  const { name } = metadata;
  if (!metadata.isTensor) throw new Error(`"${name}" is not a tensor`);
  const { type, shape } = metadata;
  if (!isElementType(type))
    throw new Error(`"${name}" is of type ${type}, wanted one of ${ELEMENT_TYPES.join(', ')}`);
  return { name, type, dims: shape };
}

const wrap = (tensor: Tensor): OrtTensor => new OrtTensor(tensor.type, tensor.data, tensor.dims);

function unwrap(result: OrtTensor): Tensor {
  const { type, data, dims } = result;
  if (!isElementType(type))
    throw new Error(`an output is of type ${type}, wanted one of ${ELEMENT_TYPES.join(', ')}`);
  return { type, data, dims } as Tensor;
}

/**
 * Makes ONNX Runtime hold float16 tensors in a Uint16Array on every Node. Node 24 has Float16Array, which onnxruntime-common
 * prefers where it exists, and whose bytes the native binding does not read ("not enough space: expected 4, got 0";
 * microsoft/onnxruntime pull request 32323). onnxruntime-common looks for Float16Array once, when the first tensor is made,
 * so that tensor is made here, with the global hidden.
 */
function keepHalfPrecisionAsBits(): void {
  const float16Array = Object.getOwnPropertyDescriptor(globalThis, 'Float16Array');
  Reflect.deleteProperty(globalThis, 'Float16Array');
  try {
    const { data } = new OrtTensor('float16', Uint16Array.of(0), [1]);
    if (data instanceof Uint16Array) return;
  } finally {
    if (float16Array) Object.defineProperty(globalThis, 'Float16Array', float16Array);
  }
  throw new Error('runtime/onnx.ts must be loaded before anything makes an ONNX Runtime tensor.');
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/**
 * Running out of memory, by the words of the library that noticed it: ONNX Runtime has no code for it. A batch that did not fit can
 * be run in halves, so this must not be taken for a broken device, and nothing else for this.
 */
const WORDINGS: readonly RegExp[] = [
  // ONNX Runtime's own arena on the CPU and on CUDA.
  /failed to allocate memory/i,
  /bad_?alloc/i,
  // CUDA, and TensorRT in its words.
  /out of memory/i,
  // CUBLAS_STATUS_ALLOC_FAILED; cuDNN 9 has CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED and ..._HOST_ALLOCATION_FAILED.
  /alloc(?:ation)?_?failed/i,
  // TensorRT's kOUT_OF_MEMORY, and Vulkan's VK_ERROR_OUT_OF_DEVICE_MEMORY under WebGPU.
  /out_of_(?:device_|host_)?memory/i,
  // WebGPU: a tensor that is larger than one buffer of the device.
  /exceeds the max buffer size limit/i,
  // WebGPU: Dawn only logs that a buffer got no memory, and refuses what is done with the buffer afterwards.
  /invalid buffer[^\n]*is invalid due to a previous error/i,
];

export const isOutOfMemory = (message: string): boolean => WORDINGS.some((wording) => wording.test(message));

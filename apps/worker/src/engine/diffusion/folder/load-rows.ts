/** Loads the graph of a UNet or a ControlNet so that each row can have its own timestep; where that is impossible, loads it aligned, with the reason. */
import { LehrError } from '@lehr/shared';
import type {
  Batching,
  GraphSource,
  InferenceRuntime,
  LoadOptions,
  RuntimeSession,
} from '../../runtime/runtime.ts';
import { largestDifference } from '../../runtime/tensor.ts';
import type { ConditionName } from '../conditioning.ts';
import type { FedRow, LatentSize } from '../row-feeds.ts';
import { rewireTimestep, type UnetRewrite, withRewrites } from './rewire-unet.ts';

export interface RowsPlan {
  /** Latent size of the check at load, when the graph fixes none. */
  readonly probe: LatentSize;
  /** Tokens of a prompt embedding. */
  readonly tokens: number;
  /** Made beside that of the timestep, in this order. */
  readonly rewrites?: readonly UnetRewrite[];
  /** Names of inputs that it may have beside those of a UNet. */
  readonly beside?: readonly string[];
  /** Made last: it may add weights. */
  readonly finish?: (source: GraphSource) => GraphSource;
}

/** The sizes of what a graph reads of a row. */
interface RowSizes {
  readonly inputChannels: number;
  readonly embeddingDim: number;
  readonly conditions: ReadonlyMap<ConditionName, number>;
}

/** A graph that computes something for each row. */
interface RowModel extends RowSizes {
  readonly fixedRows: number | undefined;
  readonly adapters?: readonly string[];
  sizeOr(size: LatentSize): LatentSize;
  results(rows: readonly FedRow[], size: LatentSize): Promise<Float32Array[]>;
}

interface Loaded<Model> {
  readonly model: Model;
  readonly session: RuntimeSession;
}

/**
 * Rewires, loads and checks; when any of these fails, loads the file as it is in aligned mode, with the reason. Throws
 * LehrError `model-unavailable` when that fails too.
 */
export async function loadRows<Model extends RowModel>(
  path: string,
  make: (session: RuntimeSession, batching: Batching) => Model,
  plan: RowsPlan,
  runtime: InferenceRuntime,
  options: LoadOptions,
): Promise<Loaded<Model>> {
  const attempt = await loadPerRow(path, make, plan, runtime, options);
  if (!('reason' in attempt)) return attempt;
  const { rewrites = [], finish = asItIs } = plan;
  const session = await runtime.load(finish(withRewrites(path, rewrites)), options);
  const model = make(session, { mode: 'aligned', reason: attempt.reason });
  const size = model.sizeOr(plan.probe);
  await model.results([probeRow(model, size, plan.tokens, 1)], size);
  const problem = await findMixedScales(model, session, plan);
  if (problem !== undefined) throw new LehrError('model-unavailable', problem);
  return { model, session };
}

const asItIs = (source: GraphSource): GraphSource => source;

async function loadPerRow<Model extends RowModel>(
  path: string,
  make: (session: RuntimeSession, batching: Batching) => Model,
  plan: RowsPlan,
  runtime: InferenceRuntime,
  options: LoadOptions,
): Promise<Loaded<Model> | { readonly reason: string }> {
  let session: RuntimeSession | undefined;
  try {
    const loaded = await loadRewired(path, plan, runtime, options);
    if ('reason' in loaded) return loaded;
    session = loaded.session;
    const model = make(session, { mode: 'rows' });
    const problem =
      (await findProblem(model, session, plan)) ?? (await findMixedScales(model, session, plan));
    if (problem === undefined) return { model, session };
    await session.close();
    return { reason: problem };
  } catch (error) {
    await session?.close();
    return {
      reason: `the rewired graph does not run: ${error instanceof Error ? error.message : String(error)}`,
    };
  }
}

/** A separate function, so that the rewritten bytes can be freed as soon as the session is loaded. */
async function loadRewired(
  path: string,
  { rewrites = [], beside = [], finish = asItIs }: RowsPlan,
  runtime: InferenceRuntime,
  options: LoadOptions,
): Promise<{ readonly session: RuntimeSession } | { readonly reason: string }> {
  // What `lehr models prepare` keeps has none of them.
  const kept = rewrites.length === 0 ? await runtime.rewired?.(path) : undefined;
  if (kept) return { session: await runtime.load(finish({ path, bytes: kept }), options) };
  const rewiring = rewireTimestep(path, rewrites, beside);
  switch (rewiring.outcome) {
    case 'impossible':
      return { reason: rewiring.reason };
    case 'as-is':
      return { session: await runtime.load(finish({ path }), options) };
    case 'rewired':
      return { session: await runtime.load(finish({ path, bytes: rewiring.bytes }), options) };
  }
}

/** float32 on a CPU differs by rounding alone. `share` is relative to the effect of the timestep. */
const STRICT = { absolute: 1e-5, share: 1e-3 };
/** Half precision and GPUs choose kernels by batch size. Mixed-up timesteps would differ 20 times as much. */
const LENIENT = { absolute: 1e-5, share: 0.05 };

/** Undefined when each row keeps its own timestep. */
async function findProblem(
  model: RowModel,
  session: RuntimeSession,
  plan: RowsPlan,
): Promise<string | undefined> {
  const size = model.sizeOr(plan.probe);
  if (model.fixedRows === 1) {
    // A run of one row cannot mix rows up; this run only shows that the graph works.
    await model.results([probeRow(model, size, plan.tokens, 1)], size);
    return undefined;
  }
  return mixed('timesteps', await checkRows(model, size, plan.tokens), session);
}

function mixed(what: string, { difference, effect }: RowsCheck, session: RuntimeSession): string | undefined {
  const isExact = session.provider === 'cpu' && session.inputs.every(({ type }) => type !== 'float16');
  const { absolute, share } = isExact ? STRICT : LENIENT;
  const tolerance = Math.max(absolute, share * effect);
  if (difference <= tolerance) return undefined;
  return `rows at different ${what} disturb each other: they differ by ${difference}, at most ${tolerance} allowed`;
}

/** Undefined when each row keeps its own scales of adapters. The first row uses the first one, the second row the last one or none. */
async function findMixedScales(
  model: RowModel,
  session: RuntimeSession,
  plan: RowsPlan,
): Promise<string | undefined> {
  const { adapters = [], fixedRows } = model;
  if (adapters.length === 0) return undefined;
  const size = model.sizeOr(plan.probe);
  const row = probeRow(model, size, plan.tokens, 1);
  const used = adapters.length > 1 ? [adapters[0], adapters[adapters.length - 1]] : adapters;
  const rows = [...used.map((name) => ({ ...row, adapters: [{ name, scale: 1 }] })), row].slice(0, 2);
  if (fixedRows !== 1) return mixed('scales of adapters', await compareRows(model, rows, size), session);
  await model.results([rows[0]], size);
  return undefined;
}

/** Far apart, whole numbers, and inside every noise schedule of 1000 timesteps. */
const TIMESTEPS = [901, 21];

interface RowsCheck {
  /** The largest difference between a row's result in a batch and alone. */
  readonly difference: number;
  /** The largest difference that the timestep or the scales alone make: how large `difference` would be if the graph mixed the rows up. */
  readonly effect: number;
}

/**
 * Checks on the loaded session that each row keeps its own timestep: two rows at different timesteps run together and
 * then alone, and the results must agree. A rewired graph is used only when they do.
 *
 * Both rows have the same latent and prompt: they differ in nothing but the timestep.
 */
export async function checkRows(model: RowModel, size: LatentSize, tokens: number): Promise<RowsCheck> {
  const rows = TIMESTEPS.map((timestep) => probeRow(model, size, tokens, timestep));
  return compareRows(model, rows, size);
}

/** Two rows that differ in one thing. */
async function compareRows(model: RowModel, rows: readonly FedRow[], size: LatentSize): Promise<RowsCheck> {
  const together = await model.results(rows, size);
  const alone: Float32Array[] = [];
  for (const row of rows) alone.push(...(await model.results([row], size)));
  return {
    difference: Math.max(...rows.map((_, i) => largestDifference(together[i], alone[i]))),
    effect: largestDifference(alone[0], alone[1]),
  };
}

/** A row of synthetic values. */
export const probeRow = (
  { inputChannels, embeddingDim, conditions }: RowSizes,
  size: LatentSize,
  tokens: number,
  timestep: number,
): FedRow => ({
  latent: wave(inputChannels * size.height * size.width),
  promptEmbedding: wave(tokens * embeddingDim),
  conditions: Object.fromEntries([...conditions].map(([name, length]) => [name, wave(length)])),
  timestep,
});

/** Values between -1 and 1, irregular enough that a convolution does not average them to nothing. */
const wave = (length: number): Float32Array =>
  Float32Array.from({ length }, (_, i) => Math.sin(i * i * 0.7 + i));

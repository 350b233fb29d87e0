/** Loads a UNet so that each row can have its own timestep; where that is impossible, loads it aligned, with the reason. */
import type { InferenceRuntime, LoadOptions, RuntimeSession } from '../../runtime/runtime.ts';
import { largestDifference } from '../../runtime/tensor.ts';
import { type LatentSize, Unet, type UnetConfig, type UnetRow } from '../unet.ts';
import { rewireTimestep, type UnetRewrite, withRewrites } from './rewire-unet.ts';

interface UnetPlan extends UnetConfig {
  /** Latent size of the check at load, when the graph fixes none. */
  readonly probe: LatentSize;
  /** Tokens of a prompt embedding. */
  readonly tokens: number;
  /** Made beside that of the timestep, in this order. */
  readonly rewrites?: readonly UnetRewrite[];
}

export interface LoadedUnet {
  readonly unet: Unet;
  readonly session: RuntimeSession;
}

/**
 * Rewires, loads and checks; when any of these fails, loads the file as it is in aligned mode, with the reason. Throws
 * LehrError `model-unavailable` when that fails too.
 */
export async function loadUnet(
  path: string,
  plan: UnetPlan,
  runtime: InferenceRuntime,
  options: LoadOptions,
): Promise<LoadedUnet> {
  const attempt = await loadPerRow(path, plan, runtime, options);
  if (!('reason' in attempt)) return attempt;
  const session = await runtime.load(withRewrites(path, plan.rewrites ?? []), options);
  const unet = new Unet(session, { mode: 'aligned', reason: attempt.reason }, plan);
  const size = latentSize(session, plan);
  await unet.predict([probeRow(unet, size, plan.tokens, 1)], size);
  return { unet, session };
}

async function loadPerRow(
  path: string,
  plan: UnetPlan,
  runtime: InferenceRuntime,
  options: LoadOptions,
): Promise<LoadedUnet | { readonly reason: string }> {
  let session: RuntimeSession | undefined;
  try {
    const loaded = await loadRewired(path, plan.rewrites ?? [], runtime, options);
    if ('reason' in loaded) return loaded;
    session = loaded.session;
    const unet = new Unet(session, { mode: 'rows' }, plan);
    const problem = await findProblem(unet, session, plan);
    if (problem === undefined) return { unet, session };
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
  rewrites: readonly UnetRewrite[],
  runtime: InferenceRuntime,
  options: LoadOptions,
): Promise<{ readonly session: RuntimeSession } | { readonly reason: string }> {
  // What `lehr models prepare` keeps has none of them.
  const kept = rewrites.length === 0 ? await runtime.rewired?.(path) : undefined;
  if (kept) return { session: await runtime.load({ path, bytes: kept }, options) };
  const rewiring = rewireTimestep(path, rewrites);
  switch (rewiring.outcome) {
    case 'impossible':
      return { reason: rewiring.reason };
    case 'as-is':
      return { session: await runtime.load({ path }, options) };
    case 'rewired':
      return { session: await runtime.load({ path, bytes: rewiring.bytes }, options) };
  }
}

/** float32 on a CPU differs by rounding alone. `share` is relative to the effect of the timestep. */
const STRICT = { absolute: 1e-5, share: 1e-3 };
/** Half precision and GPUs choose kernels by batch size. Mixed-up timesteps would differ 20 times as much. */
const LENIENT = { absolute: 1e-5, share: 0.05 };

/** Undefined when each row keeps its own timestep. */
async function findProblem(unet: Unet, session: RuntimeSession, plan: UnetPlan): Promise<string | undefined> {
  const size = latentSize(session, plan);
  if (unet.fixedRows === 1) {
    // A run of one row cannot mix rows up; this run only shows that the graph works.
    await unet.predict([probeRow(unet, size, plan.tokens, 1)], size);
    return undefined;
  }
  const { difference, effect } = await checkUnet(unet, size, plan.tokens);
  const isExact = session.provider === 'cpu' && session.inputs.every(({ type }) => type !== 'float16');
  const { absolute, share } = isExact ? STRICT : LENIENT;
  const tolerance = Math.max(absolute, share * effect);
  if (difference <= tolerance) return undefined;
  return `rows at different timesteps disturb each other: they differ by ${difference}, at most ${tolerance} allowed`;
}

/** The latent size that the graph fixes, else the plan's. */
function latentSize(session: RuntimeSession, { probe }: UnetPlan): LatentSize {
  const [height, width] = session.inputs.find(({ dims }) => dims.length === 4)?.dims.slice(2) ?? [];
  return {
    height: typeof height === 'number' ? height : probe.height,
    width: typeof width === 'number' ? width : probe.width,
  };
}

/** Far apart, whole numbers, and inside every noise schedule of 1000 timesteps. */
const TIMESTEPS = [901, 21];

interface UnetCheck {
  /** The largest difference between a row's result in a batch and alone. */
  readonly difference: number;
  /** The largest difference that the timestep alone makes: how large `difference` would be if the graph mixed the rows up. */
  readonly effect: number;
}

/**
 * Checks on the loaded session that each row keeps its own timestep: two rows at different timesteps run together and
 * then alone, and the results must agree. A rewired graph is used only when they do.
 *
 * Both rows have the same latent and prompt: they differ in nothing but the timestep.
 */
export async function checkUnet(unet: Unet, size: LatentSize, tokens: number): Promise<UnetCheck> {
  const rows = TIMESTEPS.map((timestep) => probeRow(unet, size, tokens, timestep));
  const together = await predictionsOf(unet, rows, size);
  const alone: Float32Array[] = [];
  for (const row of rows) alone.push(...(await predictionsOf(unet, [row], size)));
  return {
    difference: Math.max(...rows.map((_, i) => largestDifference(together[i], alone[i]))),
    effect: largestDifference(alone[0], alone[1]),
  };
}

/** Copies, which later runs leave alone. */
const predictionsOf = async (
  unet: Unet,
  rows: readonly UnetRow[],
  size: LatentSize,
): Promise<Float32Array[]> => (await unet.predict(rows, size)).rows.map((prediction) => prediction.slice());

/** A row of synthetic values. */
export const probeRow = (unet: Unet, size: LatentSize, tokens: number, timestep: number): UnetRow => ({
  latent: wave(unet.inputChannels * size.height * size.width),
  promptEmbedding: wave(tokens * unet.embeddingDim),
  conditions: Object.fromEntries([...unet.conditions].map(([name, length]) => [name, wave(length)])),
  timestep,
});

/** Values between -1 and 1, irregular enough that a convolution does not average them to nothing. */
const wave = (length: number): Float32Array =>
  Float32Array.from({ length }, (_, i) => Math.sin(i * i * 0.7 + i));

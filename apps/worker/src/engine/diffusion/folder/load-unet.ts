/** Loads a UNet so that each row can have its own timestep; where that is impossible, loads it aligned, with the reason. */

import type { InferenceRuntime, LoadOptions, RuntimeSession } from '../../runtime/runtime.ts';
import { type LatentSize, Unet, type UnetConfig } from '../unet.ts';
import { checkUnet, probeRow } from './check-unet.ts';
import { rewireTimestep } from './rewire-unet.ts';

export interface UnetPlan extends UnetConfig {
  /** Latent size of the check at load, when the graph fixes none. */
  readonly probe: LatentSize;
  /** Tokens of a prompt embedding. */
  readonly tokens: number;
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
  const session = await runtime.load({ path }, options);
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
    const loaded = await loadRewired(path, runtime, options);
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
  runtime: InferenceRuntime,
  options: LoadOptions,
): Promise<{ readonly session: RuntimeSession } | { readonly reason: string }> {
  const kept = await runtime.rewired?.(path);
  if (kept) return { session: await runtime.load({ path, bytes: kept }, options) };
  const rewiring = rewireTimestep(path);
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

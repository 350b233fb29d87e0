/**
 * A picture is decoded between two steps of a lane, and on a T4 takes as long as a step. This opens the VAE decoder in pieces that take a turn each, so
 * short that the lane hardly notices, if the whole takes longer than that.
 */
import { type Clock, LehrError } from '@lehr/shared';
import type { CutReport, RuntimeSession } from '../runtime/runtime.ts';
import type { PictureSize } from '../values/resize.ts';
import { pictureLike } from './latent-rgb.ts';
import type { Vae } from './vae.ts';

/** Copying what is handed over between pieces costs more than the rest of a step gains. */
const MOST_PIECES = 8;
/** Other providers choose their kernels anew for each session, and so decode the same latent a little differently after each start. */
const MOST_LEVELS = 1;

interface CutOptions {
  /** The size of the warm-up. */
  readonly picture: PictureSize;
  /** What a turn may take. */
  readonly limitMs: number;
  /** Opens the decoder again, whole or in pieces of at most this share of it. */
  readonly load: (largestPiece?: number) => Promise<RuntimeSession>;
  readonly clock: Clock;
}

/**
 * To be called after the warm-up. The whole is closed before the pieces are opened, so that the device never holds both; where the pieces do not open or
 * draw another picture, it is opened again. Undefined when the whole is short enough. Throws LehrError `model-unavailable` when it does not open again.
 */
export async function cutDecoder(
  vae: Vae,
  { picture, limitMs, load, clock }: CutOptions,
): Promise<CutReport | undefined> {
  const { latentChannels, scaleFactor } = vae;
  const size = { width: picture.width / scaleFactor, height: picture.height / scaleFactor };
  const latent = pictureLike(latentChannels, size);
  const startedAt = clock.monotonic();
  const wanted = await vae.decode(latent, picture).catch(numericReason);
  const ms = clock.monotonic() - startedAt;
  if (ms <= limitMs) return undefined;
  if (typeof wanted === 'string') return { pieces: 1, reason: `its pieces cannot be compared: ${wanted}` };
  // It compiles each piece anew, for minutes.
  if (vae.session.provider === 'tensorrt') return { pieces: 1, reason: 'TensorRT compiles graphs whole' };
  await vae.session.close();
  const reason = await tryPieces(
    vae,
    () => load(Math.max(limitMs / ms, 1 / MOST_PIECES)),
    async () => largestStep(wanted, await vae.decode(latent, picture)),
  );
  if (reason === undefined) return { pieces: vae.session.pieces ?? 1 };
  await vae.session.close();
  vae.replaceSession(await load());
  if (largestStep(wanted, await vae.decode(latent, picture)) > levelsAllowed(vae)) {
    throw new LehrError('model-unavailable', 'The vae_decoder graph changed while it was opened.');
  }
  return { pieces: 1, reason };
}

/** A VAE that cannot decode synthetic latents may still decode real ones, as in the warm-up. Throws every other error again. */
function numericReason(error: unknown): string {
  if (error instanceof LehrError && error.code === 'numeric-error') return error.message;
  throw error;
}

/** Undefined when the decoder runs in pieces and draws the same picture; otherwise why not. */
async function tryPieces(
  vae: Vae,
  load: () => Promise<RuntimeSession>,
  compare: () => Promise<number>,
): Promise<string | undefined> {
  try {
    vae.replaceSession(await load());
    const difference = await compare();
    if (difference <= levelsAllowed(vae)) return undefined;
    return `in pieces it draws another picture, by ${difference} of 255 levels`;
  } catch (error) {
    return `it does not run in pieces: ${error instanceof Error ? error.message : String(error)}`;
  }
}

const levelsAllowed = ({ session }: Vae): number =>
  session.provider === 'cpu' || session.provider === 'simulated' ? 0 : MOST_LEVELS;

function largestStep(a: Uint8Array, b: Uint8Array): number {
  let largest = 0;
  for (let i = 0; i < a.length; i += 1) largest = Math.max(largest, Math.abs(a[i] - b[i]));
  return largest;
}

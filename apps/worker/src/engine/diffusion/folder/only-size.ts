/** Graphs that were exported for one picture size: a dynamo export fixes every size that was not declared as dynamic. */
import { LehrError } from '@lehr/shared';
import type { RuntimeSession } from '../../runtime/runtime.ts';
import type { PictureSize } from '../vae.ts';

/**
 * The picture size of a model that can draw no other, undefined when it can. Throws LehrError `model-unavailable` when its graphs fix
 * different sizes. `scaleFactor` is the number of pixels for each value of a latent, in a row or column.
 */
export function onlySize(
  folder: string,
  unet: RuntimeSession,
  vaeDecoder: RuntimeSession,
  scaleFactor: number,
): PictureSize | undefined {
  const [ofUnet, ofVae] = [unet, vaeDecoder].map((session) => fixedSize(session, scaleFactor));
  if (ofUnet && ofVae && sizeText(ofUnet) !== sizeText(ofVae)) {
    const sizes = `the unet for ${sizeText(ofUnet)}, the vae_decoder for ${sizeText(ofVae)}`;
    throw new LehrError(
      'model-unavailable',
      `The graphs of ${folder} were exported for different picture sizes: ${sizes}. Export them for one size, or with dynamic height and width.`,
    );
  }
  return ofUnet ?? ofVae;
}

/** Throws LehrError `invalid-input` when the model can draw only another size. */
export function refuseOtherSize(only: PictureSize | undefined, asked: PictureSize): void {
  if (!only) return;
  const problems = (['width', 'height'] as const)
    .filter((field) => only[field] !== asked[field])
    .map((field) => ({
      pointer: `/input/${field}`,
      detail: `must be ${only[field]}, because the graphs of this model were exported for ${sizeText(only)} alone; it is ${asked[field]}`,
    }));
  if (problems.length === 0) return;
  const text = problems.map(({ pointer, detail }) => `${pointer} ${detail}.`).join(' ');
  throw new LehrError('invalid-input', text, { problems });
}

function fixedSize(session: RuntimeSession, scaleFactor: number): PictureSize | undefined {
  const latent = session.inputs.find(({ dims }) => dims.length === 4);
  const [height, width] = latent?.dims.slice(2) ?? [];
  if (typeof height !== 'number' || typeof width !== 'number') return undefined;
  return { height: height * scaleFactor, width: width * scaleFactor };
}

const sizeText = ({ width, height }: PictureSize): string => `${width}x${height}`;

/** The sizes of pictures that the graphs of a model can draw. */
import { type FieldProblem, LehrError } from '@lehr/shared';
import type { RuntimeSession } from '../../runtime/runtime.ts';
import type { PictureSize } from '../../values/resize.ts';

/**
 * Graphs that were exported for one picture size: a dynamo export fixes every size that was not declared as dynamic.
 *
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
  throw new LehrError('invalid-input', textOf(problems), { problems });
}

function fixedSize(session: RuntimeSession, scaleFactor: number): PictureSize | undefined {
  const latent = session.inputs.find(({ dims }) => dims.length === 4);
  const [height, width] = latent?.dims.slice(2) ?? [];
  if (typeof height !== 'number' || typeof width !== 'number') return undefined;
  return { height: height * scaleFactor, width: width * scaleFactor };
}

const sizeText = ({ width, height }: PictureSize): string => `${width}x${height}`;

/** A UNet doubles what it has halved, and joins it with what was there before: a latent that halves to a fraction comes back larger. */
export const sizeStep = (halvings: number, scaleFactor: number): number => scaleFactor * 2 ** halvings;

/**
 * Says what the graphs of a model could not do, where that is the size of the picture: their own words are of nodes and axes. A graph that draws
 * other sizes draws them. `isSecond`: of a second pass.
 */
export function explainedBySize(
  error: LehrError,
  step: number,
  { width, height }: PictureSize,
  isSecond: boolean,
): LehrError {
  const others = Object.entries({ width, height }).filter(([, side]) => side % step !== 0);
  if (error.code !== 'engine-failed' || others.length === 0) return error;
  const wanted = `must be a multiple of ${step}: the UNet of this model cannot draw other sizes`;
  const problems = isSecond
    ? [{ pointer: '/input/hires/scale', detail: `gives ${width}x${height}; each side ${wanted}` }]
    : others.map(([field, side]) => ({ pointer: `/input/${field}`, detail: `is ${side}, ${wanted}` }));
  return new LehrError('invalid-input', textOf(problems), { problems, cause: error });
}

const textOf = (problems: readonly FieldProblem[]): string =>
  problems.map(({ pointer, detail }) => `${pointer} ${detail}.`).join(' ');

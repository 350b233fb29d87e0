/** Opens the VAE encoder of a folder, which image to image needs. A folder without a usable one still draws from prompts. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { LehrError } from '@lehr/shared';
import { reportOf } from '../../folder/open-whole.ts';
import type { GraphReport, InferenceRuntime, LoadOptions } from '../../runtime/runtime.ts';
import type { PictureSize } from '../../values/resize.ts';
import type { VaeConfig } from '../vae.ts';
import { type LatentShape, openVaeEncoder, type VaeEncoder } from '../vae-encoder.ts';

/** How a model begins at a picture, or why it cannot. */
export type PictureInput =
  | { readonly encoder: VaeEncoder; readonly graph: GraphReport }
  | { readonly encoder: undefined; readonly reason: string };

/** Never rejects: what is wrong with the encoder is the reason. */
export async function openPictureInput(
  folder: string,
  config: VaeConfig,
  shape: LatentShape,
  runtime: InferenceRuntime,
  options: LoadOptions,
): Promise<PictureInput> {
  const path = join(folder, 'vae_encoder/model.onnx');
  if (!existsSync(path)) {
    const reason = 'it has no vae_encoder/model.onnx; Optimum exports one with the other graphs';
    return { encoder: undefined, reason };
  }
  let session: Awaited<ReturnType<InferenceRuntime['load']>> | undefined;
  try {
    session = await runtime.load({ path }, options);
    const encoder = await openVaeEncoder(session, config, shape);
    return { encoder, graph: reportOf('vae_encoder', session) };
  } catch (error) {
    await session?.close();
    return { encoder: undefined, reason: (error as Error).message };
  }
}

/** The encoder of a model. Throws LehrError `invalid-input` when it has none, or one that does not take pictures of this size. */
export function encoderOf(model: string, input: PictureInput, size: PictureSize): VaeEncoder {
  if (!input.encoder) throw refused(`cannot be used with ${model}: ${input.reason}`);
  const { onlySize } = input.encoder;
  if (onlySize && (onlySize.width !== size.width || onlySize.height !== size.height)) {
    const only = `${onlySize.width}x${onlySize.height}`;
    throw refused(
      `needs a width and height of ${only}, because the vae_encoder of ${model} was exported for them alone`,
    );
  }
  return input.encoder;
}

const refused = (detail: string): LehrError =>
  new LehrError('invalid-input', `/input/image ${detail}.`, {
    problems: [{ pointer: '/input/image', detail }],
  });

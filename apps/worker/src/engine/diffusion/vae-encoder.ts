/** The VAE encoder: pixels to latents, from which image to image begins. */
import { LehrError } from '@lehr/shared';
import { expectInputs, expectOutput, expectType } from '../runtime/graph-values.ts';
import type { RuntimeSession } from '../runtime/runtime.ts';
import { FLOAT_TYPES, type FloatType, findBadRows, floatTensor, floatValues } from '../runtime/tensor.ts';
import type { PictureSize } from '../values/resize.ts';
import { isMasked } from './masked-latent.ts';
import type { LatentSize } from './row-feeds.ts';
import type { DrawNoise } from './samplers/sampler.ts';
import type { VaeConfig } from './vae.ts';

/** The distribution of the latents of a picture, scaled as the UNet has them; each `[channels, height, width]` of the latent. */
export interface EncodedPicture {
  readonly mean: Float32Array;
  readonly deviation: Float32Array;
  /** Of the latent. */
  readonly size: LatentSize;
}

export interface LatentShape {
  readonly latentChannels: number;
  /** Pixels per latent value, both in height and in width. */
  readonly scaleFactor: number;
}

const CHANNELS = 3;

/** Pixels of the run at the opening, when the graph fixes no size. */
const PROBE_LATENT = 8;

/** As in diffusers: no deviation of a published encoder is near these. */
const LOG_VARIANCE = { least: -30, most: 20 };

/**
 * Makes a VaeEncoder from a session and runs it once, on noise. Throws what RuntimeSession.run throws, and LehrError `model-unavailable`
 * when the session is not a VAE encoder that gives means and variances, or overflows.
 */
export async function openVaeEncoder(
  session: RuntimeSession,
  config: VaeConfig,
  shape: LatentShape,
): Promise<VaeEncoder> {
  const [input] =
    session.inputs.length === 1 ? session.inputs : expectInputs('vae_encoder', session, ['sample']);
  const output = expectOutput('vae_encoder', session, ['latent_parameters']);
  const channels = output.dims[1];
  if (output.name === 'latent_sample' || channels === shape.latentChannels) {
    throw new LehrError(
      'model-unavailable',
      `The vae_encoder graph draws its noise itself ("${output.name}" has ${shape.latentChannels} channels), so that a seed would not repeat ` +
        'a picture. Export it again with a newer Optimum, whose encoders give "latent_parameters".',
    );
  }
  const [height, width] = input.dims
    .slice(2)
    .map((dim) => (typeof dim === 'number' ? dim : PROBE_LATENT * shape.scaleFactor));
  const fixed = input.dims.slice(2).every((dim) => typeof dim === 'number');
  const encoder = new VaeEncoder(session, {
    ...config,
    ...shape,
    input: input.name,
    type: expectType('vae_encoder', input, FLOAT_TYPES),
    output: output.name,
    onlySize: fixed ? { height, width } : undefined,
  });
  await encoder.encode(probePixels(height * width * CHANNELS), { height, width });
  return encoder;
}

/** Irregular, because the encoder of SDXL overflows in float16 on contrasts. */
const probePixels = (length: number): Uint8Array =>
  Uint8Array.from({ length }, (_, i) => 127.5 + 127.5 * Math.sin(i * i * 0.7 + i));

interface EncoderGraph extends Omit<VaeConfig, 'latentChannels'>, LatentShape {
  /** The name of the input. */
  readonly input: string;
  readonly type: FloatType;
  readonly output: string;
  /** The only picture size that the graph takes; undefined when it takes others. */
  readonly onlySize: PictureSize | undefined;
}

export class VaeEncoder {
  readonly #session: RuntimeSession;
  readonly #graph: EncoderGraph;

  constructor(session: RuntimeSession, graph: EncoderGraph) {
    this.#session = session;
    this.#graph = graph;
  }

  /** The only picture size that it takes; undefined when it takes others. */
  get onlySize(): PictureSize | undefined {
    return this.#graph.onlySize;
  }

  /**
   * Encodes RGB, 8 bits, `[height, width, 3]`; with a mask, without the pixels that it marks, which become grey. Throws what RuntimeSession.run throws, and LehrError `numeric-error` when the result is not
   * finite.
   */
  async encode(
    pixels: Uint8Array,
    { height, width }: PictureSize,
    mask?: Uint8Array,
  ): Promise<EncodedPicture> {
    const { input, type, output, latentChannels, scaleFactor } = this.#graph;
    const picture = floatTensor(type, toValues(pixels, mask), [1, CHANNELS, height, width]);
    const { [output]: result } = await this.#session.run({ [input]: picture }, [output]);
    const wanted = [1, 2 * latentChannels, height / scaleFactor, width / scaleFactor];
    if (result.dims.join() !== wanted.join()) {
      const shapes = `[${result.dims.join(', ')}], wanted [${wanted.join(', ')}]`;
      throw new LehrError('model-unavailable', `The vae_encoder graph gave ${shapes}.`);
    }
    const values = floatValues(result);
    if (findBadRows([values]).length > 0) {
      throw new LehrError('numeric-error', 'The VAE encoder produced values that are not finite.');
    }
    return { ...this.#scaled(values), size: { height: wanted[2], width: wanted[3] } };
  }

  async close(): Promise<void> {
    await this.#session.close();
  }

  /** The first half are means, the second half logarithms of variances. */
  #scaled(values: Float32Array): Omit<EncodedPicture, 'size'> {
    const { scalingFactor, shiftFactor } = this.#graph;
    const half = values.length / 2;
    const mean = values.slice(0, half);
    const deviation = values.slice(half);
    for (let i = 0; i < half; i += 1) {
      mean[i] = (mean[i] - shiftFactor) * scalingFactor;
      const logVariance = Math.min(Math.max(deviation[i], LOG_VARIANCE.least), LOG_VARIANCE.most);
      deviation[i] = Math.exp(logVariance / 2) * scalingFactor;
    }
    return { mean, deviation };
  }
}

/** One latent of the picture, into `latent`. */
export function drawLatent(
  { mean, deviation }: EncodedPicture,
  latent: Float32Array,
  drawNoise: DrawNoise,
): void {
  const noise = drawNoise(latent.length);
  for (let i = 0; i < latent.length; i += 1) latent[i] = mean[i] + deviation[i] * noise[i];
}

/** Bytes `[height, width, 3]` to `[3, height, width]` in -1 to 1, and 0 where there is a mask. */
function toValues(pixels: Uint8Array, mask?: Uint8Array): Float32Array {
  const size = pixels.length / CHANNELS;
  const values = new Float32Array(pixels.length);
  for (let channel = 0; channel < CHANNELS; channel += 1) {
    for (let i = 0; i < size; i += 1)
      values[channel * size + i] =
        mask && isMasked(mask[i]) ? 0 : (pixels[i * CHANNELS + channel] / 255) * 2 - 1;
  }
  return values;
}

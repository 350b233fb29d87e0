/** The VAE decoder: latents to pixels. */
import { LehrError } from '@lehr/shared';
import { expectInputs, expectOutput, expectSize, expectType } from '../runtime/graph-values.ts';
import type { RuntimeSession } from '../runtime/runtime.ts';
import { finish, runInPieces } from '../runtime/session-around.ts';
import {
  elementCount,
  FLOAT_TYPES,
  type FloatType,
  findBadRows,
  floatTensor,
  floatValues,
} from '../runtime/tensor.ts';
import type { PictureSize } from '../values/resize.ts';
import { SeededNoise } from './noise.ts';

export interface VaeConfig {
  readonly latentChannels?: number | undefined;
  /** The UNet's latents are the VAE's, shifted and scaled to a standard deviation of about 1. */
  readonly scalingFactor: number;
  readonly shiftFactor: number;
  /** Whether the config says that the decoder overflows in float16 (`force_upcast`). */
  readonly overflowsInHalf?: boolean;
}

const CHANNELS = 3;

/** Latent size of the run that measures the scale factor, when the graph fixes none. */
const PROBE_SIZE = 8;

/**
 * Makes a Vae from a session and runs it once, to measure how many pixels a latent value becomes. Throws what
 * RuntimeSession.run throws, and LehrError `model-unavailable` when the session is not a VAE decoder.
 */
export async function openVae(session: RuntimeSession, config: VaeConfig): Promise<Vae> {
  const [latent] =
    session.inputs.length === 1 ? session.inputs : expectInputs('vae_decoder', session, ['latent_sample']);
  const graph = {
    input: latent.name,
    type: expectType('vae_decoder', latent, FLOAT_TYPES),
    output: expectOutput('vae_decoder', session, ['sample']).name,
    latentChannels: expectSize('vae_decoder', latent, 1, config.latentChannels),
  };
  const [height, width] = latent.dims.slice(2).map((dim) => (typeof dim === 'number' ? dim : PROBE_SIZE));
  const dims = [1, graph.latentChannels, height, width];
  const probe = floatTensor(graph.type, new Float32Array(elementCount(dims)), dims);
  const { [graph.output]: picture } = await session.run({ [latent.name]: probe }, [graph.output]);
  const scaleFactor = picture.dims[2] / height;
  const wanted = [1, CHANNELS, height * scaleFactor, width * scaleFactor];
  if (picture.dims.join() !== wanted.join() || !Number.isInteger(scaleFactor)) {
    const shapes = `latents of [${dims.join(', ')}] into [${picture.dims.join(', ')}]`;
    throw new LehrError(
      'model-unavailable',
      `The vae_decoder graph turns ${shapes}, wanted RGB at a whole multiple of the size.`,
    );
  }
  const vae = new Vae(session, { ...config, ...graph, scaleFactor });
  if (graph.type === 'float16' && config.overflowsInHalf) {
    await checkNoise(vae, { height: height * scaleFactor, width: width * scaleFactor });
  }
  return vae;
}

/** SDXL's own VAE decodes to NaN in float16, on devices that compute in it. Found out here and not at the end of every job. */
async function checkNoise(vae: Vae, size: PictureSize): Promise<void> {
  const length = (vae.latentChannels * size.height * size.width) / vae.scaleFactor ** 2;
  try {
    await vae.decode(new SeededNoise(0).draw(length), size);
  } catch (error) {
    if (!(error instanceof LehrError && error.code === 'numeric-error')) throw error;
    throw new LehrError(
      'model-unavailable',
      'The vae_decoder graph overflows in float16, as its config says (force_upcast). Export it in float32, or take the VAE ' +
        'madebyollin/sdxl-vae-fp16-fix.',
      { cause: error },
    );
  }
}

interface VaeGraph extends VaeConfig {
  /** The name of the input. */
  readonly input: string;
  readonly type: FloatType;
  readonly output: string;
  readonly latentChannels: number;
  readonly scaleFactor: number;
}

export class Vae {
  readonly latentChannels: number;
  /** Pixels per latent value, both in height and in width. */
  readonly scaleFactor: number;
  #session: RuntimeSession;
  readonly #graph: VaeGraph;

  constructor(session: RuntimeSession, graph: VaeGraph) {
    this.#session = session;
    this.#graph = graph;
    this.latentChannels = graph.latentChannels;
    this.scaleFactor = graph.scaleFactor;
  }

  /**
   * Decodes one latent `[channels, height / scaleFactor, width / scaleFactor]` to RGB, 8 bits, `[height, width, 3]`.
   * Throws what RuntimeSession.run throws, and LehrError `numeric-error` for a NaN, which would make a black picture.
   */
  decode(latent: Float32Array, size: PictureSize): Promise<Uint8Array> {
    return finish(this.decodeInPieces(latent, size));
  }

  /** As `decode`, with a yield between two pieces of the graph: there, other graphs may run. */
  async *decodeInPieces(
    latent: Float32Array,
    { height, width }: PictureSize,
  ): AsyncGenerator<void, Uint8Array> {
    const { input, type, output, scalingFactor, shiftFactor } = this.#graph;
    const dims = [1, this.latentChannels, height / this.scaleFactor, width / this.scaleFactor];
    const own = latent.map((value) => value / scalingFactor + shiftFactor);
    // A tensor of this picture alone: between two pieces, others are decoded.
    const feeds = { [input]: floatTensor(type, own, dims) };
    const results = yield* runInPieces(this.#session, feeds, [output]);
    const values = floatValues(results[output]);
    if (findBadRows([values]).length > 0) {
      throw new LehrError('numeric-error', 'The VAE produced values that are not finite.');
    }
    return toPixels(values);
  }

  get session(): RuntimeSession {
    return this.#session;
  }

  /** Decodes with another session of the same graph from now on. Does not close the one before. */
  replaceSession(session: RuntimeSession): void {
    this.#session = session;
  }

  async close(): Promise<void> {
    await this.#session.close();
  }
}

/** `[3, height, width]` in -1 to 1 to bytes, `[height, width, 3]`; values outside are clamped. */
function toPixels(values: Float32Array): Uint8Array {
  const size = values.length / CHANNELS;
  const pixels = new Uint8ClampedArray(values.length);
  for (let channel = 0; channel < CHANNELS; channel += 1) {
    for (let i = 0; i < size; i += 1) {
      // Uint8ClampedArray clamps to 0 and 255 and rounds half to even, as numpy does in diffusers.
      pixels[i * CHANNELS + channel] = (values[channel * size + i] / 2 + 0.5) * 255;
    }
  }
  return new Uint8Array(pixels.buffer);
}

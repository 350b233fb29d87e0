/**
 * What the model gave for one sample at one call. Samplers, and previews, only ever need sums of it with the sample's latent, so it is not
 * computed by itself: guidance, the conversion from float16, the step and the check for finite values are one pass.
 */
import { type Guided, mixFloats, mixHalves, type WeightedNoise } from './guidance.ts';
import type { Mix } from './samplers/prediction.ts';

/**
 * Values that one call sums. A loop over a whole latent is so long that V8 compiles it while it runs, for this one entry into the middle of
 * it, and then often keeps that code, in which every value takes twice the time.
 */
const SPAN = 1024;

const NO_NOISE: WeightedNoise = { weight: 0, values: undefined };

export class ModelOutput {
  readonly #guided: Guided<Float32Array> | Guided<Uint16Array>;
  readonly #memory: Float32Array;
  /** 0, or NaN after a sum that was not finite. */
  #finite = 0;

  /** `memory` is as long as a latent, and `mixed` overwrites it. */
  constructor(guided: Guided<Float32Array> | Guided<Uint16Array>, memory: Float32Array) {
    this.#guided = guided;
    this.#memory = memory;
  }

  /** An output that is there as values; another one is returned as it is. */
  static from(output: ModelOutput | Float32Array): ModelOutput {
    if (output instanceof ModelOutput) return output;
    return new ModelOutput({ negative: output, prompt: output, scale: 1 }, new Float32Array(output.length));
  }

  get length(): number {
    return this.#guided.prompt.length;
  }

  /** Whether what was summed up so far is finite. */
  get isFinite(): boolean {
    return this.#finite === 0;
  }

  /** `latent = mix.latent * latent + mix.output * output`, plus noise. */
  mixInto(latent: Float32Array, mix: Mix, noise?: WeightedNoise): void {
    this.#mix(mix, latent, latent, noise);
  }

  /** `mix.latent * latent + mix.output * output`, in memory that is used again by the next sum, also by that of another sample. */
  mixed(mix: Mix, latent: Float32Array): Float32Array {
    this.#mix(mix, latent, this.#memory);
    return this.#memory;
  }

  #mix(mix: Mix, latent: Float32Array, out: Float32Array, noise = NO_NOISE): void {
    const guided = this.#guided;
    for (let from = 0; from < out.length; from += SPAN) {
      const span = { from, to: Math.min(from + SPAN, out.length) };
      this.#finite += isHalf(guided)
        ? mixHalves(guided, mix, latent, out, noise, span)
        : mixFloats(guided, mix, latent, out, noise, span);
    }
  }
}

const isHalf = (guided: Guided<Float32Array> | Guided<Uint16Array>): guided is Guided<Uint16Array> =>
  guided.prompt instanceof Uint16Array;

/**
 * What the model gave for one sample at one call. Samplers, and previews, only ever need sums of it with the sample's latent, so it is not
 * computed by itself: guidance, the conversion from float16, the step and the check for finite values are one pass.
 */

import { halfValues, toFloat32 } from '@lehr/onnx-model';
import { allFinite, type FloatType, type Tensor } from '../runtime/tensor.ts';
import { levelOfSigma, type NoiseLevel, noiseSchedule, sigmaAt } from './noise-schedule.ts';
import type { PredictionType, SchedulerConfig } from './scheduler-config.ts';

/** Weights of a sum: `mix.latent * latent + mix.output * model output`. */
export interface Mix {
  readonly latent: number;
  readonly output: number;
}

/**
 * The clean latent that a model output predicts, for a latent `alpha * clean + sigma * noise`. A velocity is
 * `alpha * noise - sigma * clean` (arXiv 2202.00512).
 */
export function cleanMix(type: PredictionType, { alpha, sigma }: NoiseLevel): Mix {
  return type === 'epsilon'
    ? { latent: 1 / alpha, output: -sigma / alpha }
    : { latent: alpha, output: -sigma };
}

/** The noise that a model output predicts, for the same latent. */
export function noiseMix(type: PredictionType, { alpha, sigma }: NoiseLevel): Mix {
  return type === 'epsilon' ? { latent: 0, output: 1 } : { latent: sigma, output: alpha };
}

/**
 * Why ddim and lcm cannot run on a config; undefined when they can. From pure noise, the predicted noise does not determine
 * the picture, and cleanMix would divide by 0.
 */
export function refusePureNoise(config: SchedulerConfig): string | undefined {
  const undefinedThere = config.rescaleBetasZeroSnr && config.predictionType === 'epsilon';
  return undefinedThere ? 'a zero-terminal-SNR schedule needs prediction_type v_prediction' : undefined;
}

/** What the model gave for a sample, as float32 or as float16. A scale of 1 gives the prompt's prediction. */
interface Guided<Values extends Float32Array | Uint16Array> {
  readonly negative: Values;
  readonly prompt: Values;
  readonly scale: number;
}

/** `values` is undefined for no noise. */
interface WeightedNoise {
  readonly weight: number;
  readonly values: Float32Array | undefined;
}

/** Part of a latent: values `from` up to `to`. */
interface Span {
  readonly from: number;
  readonly to: number;
}

/**
 * Classifier-free guidance (arXiv 2207.12598, in the form that diffusers uses): `negative + scale * (prompt - negative)` is the model's
 * output for a sample. It is summed with the sample's latent, and with noise, in the same pass: every pass over the values of a
 * sample takes the engine about as long, whatever it computes. All arrays are as long as the latent.
 *
 * Writes a span of `mix.latent * latent + mix.output * output`, and the noise, into `out`, which may be `latent`. Returns 0, or NaN when
 * the sum without the noise is not finite.
 */
function mixFloats(
  { negative, prompt, scale }: Guided<Float32Array>,
  mix: Mix,
  latent: Float32Array,
  out: Float32Array,
  { weight, values }: WeightedNoise,
  { from, to }: Span,
): number {
  const fromPrompt = mix.output * scale;
  const fromNegative = mix.output - fromPrompt;
  const fromLatent = mix.latent;
  let finite = 0;
  for (let i = from; i < to; i++) {
    const sum = fromLatent * latent[i] + fromNegative * negative[i] + fromPrompt * prompt[i];
    finite += sum * 0;
    // Two writes take a little less time than one with the choice in it.
    if (values) out[i] = sum + weight * values[i];
    else out[i] = sum;
  }
  return finite;
}

/** As mixFloats. Predictions in half precision are converted here: they are read once, and never written as float32. */
function mixHalves(
  { negative, prompt, scale }: Guided<Uint16Array>,
  mix: Mix,
  latent: Float32Array,
  out: Float32Array,
  { weight, values }: WeightedNoise,
  { from, to }: Span,
): number {
  const floats = halfValues();
  const fromPrompt = mix.output * scale;
  const fromNegative = mix.output - fromPrompt;
  const fromLatent = mix.latent;
  let finite = 0;
  for (let i = from; i < to; i++) {
    const sum = fromLatent * latent[i] + fromNegative * floats[negative[i]] + fromPrompt * floats[prompt[i]];
    finite += sum * 0;
    if (values) out[i] = sum + weight * values[i];
    else out[i] = sum;
  }
  return finite;
}

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

/** What a run of a UNet gave: one prediction per row, in the float type of the graph until a sample reads its own. */
export class NoisePredictions {
  /** How long the graphs ran, ms. */
  readonly runMs: number;
  /** The part of it that ControlNets took, for the rows that they guide. */
  readonly controlMs: number;
  readonly #output: Tensor<FloatType>;
  readonly #count: number;
  readonly #rowLength: number;
  readonly #memory: Float32Array;

  /** The first `count` rows of `output`. `memory` is as long as a row; the outputs for samples use it. */
  constructor(
    output: Tensor<FloatType>,
    count: number,
    memory = new Float32Array(output.data.length / output.dims[0]),
    runMs = 0,
    controlMs = 0,
  ) {
    this.runMs = runMs;
    this.controlMs = controlMs;
    this.#output = output;
    this.#count = count;
    this.#rowLength = output.data.length / output.dims[0];
    this.#memory = memory;
  }

  /** Every row, `[channels, height, width]`. */
  get rows(): Float32Array[] {
    return Array.from({ length: this.#count }, (_, row) => {
      const values = this.#row(row);
      return values instanceof Uint16Array ? toFloat32(values) : values;
    });
  }

  /** Indices of rows with a NaN or an infinity; all other rows are valid. */
  get badRows(): number[] {
    return this.rows.flatMap((row, index) => (allFinite(row) ? [] : [index]));
  }

  /** For a sample with one row, or with two of them under guidance, the negative prompt's first. */
  outputFor(firstRow: number, rows: 1 | 2, guidance: number): ModelOutput {
    // The only row has no other one to be moved away from.
    const [negative, prompt] = [this.#row(firstRow), this.#row(firstRow + rows - 1)];
    const scale = rows === 1 ? 1 : guidance;
    return new ModelOutput(
      { negative, prompt, scale } as Guided<Float32Array> | Guided<Uint16Array>,
      this.#memory,
    );
  }

  #row(row: number): Float32Array | Uint16Array {
    return this.#output.data.subarray(row * this.#rowLength, (row + 1) * this.#rowLength);
  }
}

/**
 * The clean latent that a model output predicts: the result if every later step agreed with this one. It shows the picture
 * from the first steps on, while the running latent is still mostly noise. `input` is the model's input, so samplers with
 * latents of another scale need no special case.
 */
export function predictedClean(
  config: SchedulerConfig,
  timestep: number,
  input: Float32Array,
  output: ModelOutput | Float32Array,
): Float32Array {
  const level = levelOfSigma(sigmaAt(noiseSchedule(config), timestep));
  const mix = cleanMix(config.predictionType, level);
  return ModelOutput.from(output).mixed(mix, input).slice();
}

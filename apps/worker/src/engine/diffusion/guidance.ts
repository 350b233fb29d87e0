/**
 * Classifier-free guidance (arXiv 2207.12598, in the form that diffusers uses): `negative + scale * (prompt - negative)` is the model's
 * output for a sample. It is summed with the sample's latent, and with noise, in the same pass: every pass over the values of a
 * sample takes the engine about as long, whatever it computes. All arrays are as long as the latent.
 */
import { halfValues } from '@lehr/onnx-model';
import type { Mix } from './samplers/prediction.ts';

/** What the model gave for a sample, as float32 or as float16. A scale of 1 gives the prompt's prediction. */
export interface Guided<Values extends Float32Array | Uint16Array> {
  readonly negative: Values;
  readonly prompt: Values;
  readonly scale: number;
}

/** `values` is undefined for no noise. */
export interface WeightedNoise {
  readonly weight: number;
  readonly values: Float32Array | undefined;
}

/** Part of a latent: values `from` up to `to`. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/**
 * Writes a span of `mix.latent * latent + mix.output * output`, and the noise, into `out`, which may be `latent`. Returns 0, or NaN when
 * the sum without the noise is not finite.
 */
export function mixFloats(
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
export function mixHalves(
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

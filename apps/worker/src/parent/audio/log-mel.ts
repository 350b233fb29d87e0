/**
 * Whisper's front end: sound to its log-mel spectrogram, as openai/whisper's audio.py computes it. Here is the log-mel of a window that is
 * alone, as Hugging Face's WhisperFeatureExtractor takes it; recording-mel.ts has that of a window which is part of a recording.
 */
import { Fft } from './fft.ts';
import { type MelFilter, melFilters } from './mel-filters.ts';
import { WAVEFORM_RATE } from './waveform.ts';

/** The part of a model's `preprocessor_config.json` that this needs. */
export interface LogMelConfig {
  /** Rows of the log-mel: 80, or 128 from large-v3 on. */
  readonly melBins: number;
  readonly fftSize: 400;
  /** Samples from one frame to the next. */
  readonly hopLength: number;
  /** Samples of a whole window: shorter sound is padded with silence. */
  readonly windowSamples: number;
}

/** log10 of the least power, which is that of silence. */
const SILENCE = -10;
/** Values further below the loudest one are raised to this distance, in bels. */
const DYNAMIC_RANGE = 8;

export const framesOf = ({ windowSamples, hopLength }: LogMelConfig): number =>
  Math.floor(windowSamples / hopLength);

/**
 * The log-mel of the window that starts at `startSample` of a 16 kHz waveform: [melBins, frames], row-major. Zeros stand in
 * for what the waveform does not have.
 */
export function logMelWindow(
  waveform: Float32Array,
  startSample: number,
  config: LogMelConfig,
): Float32Array {
  const { fftSize, windowSamples } = config;
  const samples = waveform.subarray(startSample, startSample + windowSamples);
  const padded = reflected(samples, windowSamples, fftSize / 2);
  return clampAndScale(logPowers(padded, samples.length, config));
}

/**
 * log10 of the mel powers of a window: [melBins, frames], row-major. `around` is the window with half of `fftSize` more samples at each
 * end; only the first `soundSamples` samples of the window are sound, and what follows them is zeros.
 */
export function logPowers(around: Float64Array, soundSamples: number, config: LogMelConfig): Float32Array {
  const { melBins, hopLength, fftSize } = config;
  const frames = framesOf(config);
  const mel = new Float32Array(melBins * frames).fill(SILENCE);
  const powers = spectrumOf(fftSize);
  const filters = filtersOf(melBins, fftSize);
  // Frames past the sound are silence: they need no transform.
  const heard = Math.min(frames, Math.ceil((soundSamples + fftSize / 2) / hopLength));
  for (let frame = 0; frame < heard; frame += 2) {
    powers.read(around, frame * hopLength, (frame + 1) * hopLength);
    gather(filters, powers.first, mel, frame, frames);
    if (frame + 1 < heard) gather(filters, powers.second, mel, frame + 1, frames);
  }
  return mel;
}

/** The window with its ends mirrored outwards, the outermost sample not repeated. */
function reflected(samples: Float32Array, windowSamples: number, reach: number): Float64Array {
  const padded = new Float64Array(windowSamples + 2 * reach);
  padded.set(samples, reach);
  for (let i = 1; i <= reach; i++) {
    padded[reach - i] = padded[reach + i];
    padded[reach + windowSamples - 1 + i] = padded[reach + windowSamples - 1 - i];
  }
  return padded;
}

function gather(
  filters: readonly MelFilter[],
  power: Float64Array,
  mel: Float32Array,
  frame: number,
  frames: number,
): void {
  for (let bin = 0; bin < filters.length; bin++) {
    const { start, weights } = filters[bin];
    let sum = 0;
    for (let i = 0; i < weights.length; i++) sum += weights[i] * power[start + i];
    mel[bin * frames + frame] = Math.log10(Math.max(sum, 10 ** SILENCE));
  }
}

export function loudestIn(mel: Float32Array): number {
  let loudest = SILENCE;
  for (let i = 0; i < mel.length; i++) loudest = Math.max(loudest, mel[i]);
  return loudest;
}

/** What `logPowers` returned to what the encoder takes, in place. */
export function clampAndScale(mel: Float32Array, loudest: number = loudestIn(mel)): Float32Array {
  const least = loudest - DYNAMIC_RANGE;
  for (let i = 0; i < mel.length; i++) mel[i] = (Math.max(mel[i], least) + 4) / 4;
  return mel;
}

/** Powers of two frames by one complex transform: one frame is its real, the other its imaginary part. */
class PowerSpectrum {
  readonly first: Float64Array;
  readonly second: Float64Array;
  readonly #size: number;
  readonly #hann: Float64Array;
  readonly #fft: Fft;

  constructor(size: number) {
    this.#size = size;
    this.#fft = new Fft(size);
    // Periodic: one more sample would begin the next period.
    this.#hann = Float64Array.from(
      { length: size },
      (_, i) => 0.5 - 0.5 * Math.cos((2 * Math.PI * i) / size),
    );
    this.first = new Float64Array(size / 2 + 1);
    this.second = new Float64Array(size / 2 + 1);
  }

  read(samples: Float64Array, firstAt: number, secondAt: number): void {
    const size = this.#size;
    const { re, im } = this.#fft.input;
    for (let i = 0; i < size; i++) {
      re[i] = samples[firstAt + i] * this.#hann[i];
      im[i] = samples[secondAt + i] * this.#hann[i];
    }
    const z = this.#fft.transform();
    for (let k = 0; k <= size / 2; k++) {
      const mirror = k === 0 ? 0 : size - k;
      const [sumRe, sumIm] = [z.re[k] + z.re[mirror], z.im[k] + z.im[mirror]];
      const [difRe, difIm] = [z.re[k] - z.re[mirror], z.im[k] - z.im[mirror]];
      this.first[k] = (sumRe ** 2 + difIm ** 2) / 4;
      this.second[k] = (sumIm ** 2 + difRe ** 2) / 4;
    }
  }
}

const spectrumOf = remembered((size: number) => new PowerSpectrum(size));
const filtersOf = remembered((bins: number, fftSize: number) => melFilters(bins, fftSize, WAVEFORM_RATE));

/** Tables are made once per size; a worker serves a handful of models. */
function remembered<Key extends number[], Value>(make: (...key: Key) => Value): (...key: Key) => Value {
  const made = new Map<string, Value>();
  return (...key) => {
    const name = key.join();
    const value = made.get(name) ?? make(...key);
    made.set(name, value);
    return value;
  };
}

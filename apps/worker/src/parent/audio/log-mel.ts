/**
 * Whisper's front end: sound to its log-mel spectrogram, as openai/whisper's audio.py computes it. `logMelWindow` makes the
 * log-mel of a window that is alone, as Hugging Face's WhisperFeatureExtractor takes it; `recordingMel` that of a window which is part of a
 * recording, as openai/whisper's transcribe.py takes it: the loudest moment of the recording clamps every window, and the frames at the ends
 * of a window hear the sound beyond them. Zeros follow the recording.
 *
 * The log-mel of an hour takes 115 MB, or 184 MB with 128 bins. So a first pass over a recording keeps its largest value only, and each
 * window is computed when it is needed.
 */
import { Fft } from './fft.ts';
import type { SampleRange } from './silence.ts';
import { readWaveform, WAVEFORM_RATE, type Waveform } from './waveform.ts';

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
function logPowers(around: Float64Array, soundSamples: number, config: LogMelConfig): Float32Array {
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

function loudestIn(mel: Float32Array): number {
  let loudest = SILENCE;
  for (let i = 0; i < mel.length; i++) loudest = Math.max(loudest, mel[i]);
  return loudest;
}

/** What `logPowers` returned to what the encoder takes, in place. */
function clampAndScale(mel: Float32Array, loudest: number = loudestIn(mel)): Float32Array {
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

/**
 * The triangular filters that gather 201 frequencies into mel bins: Slaney's mel scale and area normalisation, from 0 Hz
 * to the Nyquist frequency, as librosa makes them for Whisper.
 */
interface MelFilter {
  /** The first frequency bin it weighs. */
  readonly start: number;
  readonly weights: Float64Array;
}

/** Below this the scale is linear, 15 mels per kHz; above, 27 mels are a factor of 6.4. Slaney, Auditory Toolbox, 1998. */
const LOG_START_HZ = 1000;
const LINEAR_HZ_PER_MEL = 200 / 3;
const LOG_START_MEL = LOG_START_HZ / LINEAR_HZ_PER_MEL;
const LOG_STEP = Math.log(6.4) / 27;

const toMel = (hz: number): number =>
  hz < LOG_START_HZ ? hz / LINEAR_HZ_PER_MEL : LOG_START_MEL + Math.log(hz / LOG_START_HZ) / LOG_STEP;

const toHz = (mel: number): number =>
  mel < LOG_START_MEL ? mel * LINEAR_HZ_PER_MEL : LOG_START_HZ * Math.exp(LOG_STEP * (mel - LOG_START_MEL));

/** One filter per mel bin, for a transform of `fftSize` at `sampleRate` Hz. */
export function melFilters(bins: number, fftSize: number, sampleRate: number): MelFilter[] {
  const topMel = toMel(sampleRate / 2);
  const corners = Array.from({ length: bins + 2 }, (_, i) => toHz((topMel * i) / (bins + 1)));
  const hzPerBin = sampleRate / fftSize;
  return Array.from({ length: bins }, (_, bin) => {
    const [left, peak, right] = corners.slice(bin, bin + 3);
    const start = Math.floor(left / hzPerBin) + 1;
    const end = Math.ceil(right / hzPerBin);
    const weights = Float64Array.from({ length: Math.max(0, end - start) }, (_, i) => {
      const hz = (start + i) * hzPerBin;
      return (Math.min((hz - left) / (peak - left), (right - hz) / (right - peak)) * 2) / (right - left);
    });
    return { start, weights };
  });
}

export interface RecordingPart {
  /** [melBins, frames], row-major. */
  readonly mel: Float32Array;
  /** What clamped it: the largest log10 of a mel power in the recording. */
  readonly loudest: number;
}

/**
 * The part that starts at `startSample`, a multiple of `hopLength`. `loudest`: the largest value of `rangesToHear`. Undefined when there is
 * no range and the part is the first one: it has all frames, and the parts after it are told what it found.
 */
export function recordingMel(
  waveform: Waveform,
  startSample: number,
  config: LogMelConfig,
  loudest: number | undefined,
): RecordingPart {
  const powers = partPowers(waveform, startSample, config);
  const most = loudest ?? loudestIn(powers);
  return { mel: clampAndScale(powers, most), loudest: most };
}

/** The largest log10 of a mel power in the frames that begin in this range, whose start is a multiple of `hopLength`. */
export function loudestOf(waveform: Waveform, { start, end }: SampleRange, config: LogMelConfig): number {
  let loudest = Number.NEGATIVE_INFINITY;
  const wholeFrames = framesOf(config) * config.hopLength;
  for (let from = start; from < end; from += wholeFrames) {
    // A shorter part at the end: the frames behind it belong to another range, and are computed there.
    const windowSamples = Math.min(wholeFrames, end - from);
    loudest = Math.max(loudest, loudestIn(partPowers(waveform, from, { ...config, windowSamples })));
  }
  return loudest;
}

/**
 * Ranges for `loudestOf` that have all frames of the recording. Each takes `windows` windows, so that no task is long. None when one
 * window has all frames: its own loudest value is that of the recording.
 */
export function rangesToHear(length: number, config: LogMelConfig, windows: number): SampleRange[] {
  // Frames are centred: those that begin up to half a transform behind the end still hear its sound.
  const end = Math.ceil((length + config.fftSize / 2) / config.hopLength) * config.hopLength;
  const most = framesOf(config) * config.hopLength * windows;
  const count = end <= config.windowSamples ? 0 : Math.ceil(end / most);
  return Array.from({ length: count }, (_, i) => ({ start: i * most, end: Math.min((i + 1) * most, end) }));
}

function partPowers(waveform: Waveform, startSample: number, config: LogMelConfig): Float32Array {
  const reach = config.fftSize / 2;
  const from = startSample - reach;
  const around = Float64Array.from(readWaveform(waveform, from, startSample + config.windowSamples + reach));
  if (from < 0) mirrorStart(waveform, around, -from);
  return logPowers(around, Math.max(0, waveform.length - startSample), config);
}

/** Fills the `missing` samples before the recording with its first ones, mirrored; the outermost sample is not repeated. */
function mirrorStart(waveform: Waveform, around: Float64Array, missing: number): void {
  const first = readWaveform(waveform, 1, missing + 1);
  for (const [i, sample] of first.entries()) around[missing - 1 - i] = sample;
}

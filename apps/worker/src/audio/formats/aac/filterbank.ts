/** Spectra to sound: inverse MDCT, window, overlap with the frame before. ISO/IEC 14496-3, 4.6.11. */
import { besselI0 } from '../../bessel.ts';
import { Fft } from '../../fft.ts';
import { EIGHT_SHORT, type FrameLayout } from './channel-stream.ts';

const LONG = 1024;
const SHORT = 128;
/** Where the first short window begins in a frame. */
const SHORT_START = (LONG - SHORT) / 2;
const FULL_SCALE = 0x8000;
const LONG_START = 1;
const LONG_STOP = 3;

/** Rising halves by shape: sine, and Kaiser-Bessel derived with alpha 4 for long and 6 for short windows. */
const RISES = {
  long: [sineRise(LONG), kaiserBesselRise(LONG, 4)],
  short: [sineRise(SHORT), kaiserBesselRise(SHORT, 6)],
};

/** One channel's memory of the frame before. */
export class Filterbank {
  readonly #long = new InverseMdct(LONG);
  readonly #short = new InverseMdct(SHORT);
  #overlap = new Float64Array(LONG);
  /** The shape of a frame's first half is the last one's. */
  #shape = 0;

  /** 1024 samples of -1 to 1, a frame late as the transform wants it. The array is new. */
  synthesize(spectrum: Float64Array, { sequence, shape }: FrameLayout): Float32Array {
    const frame =
      sequence === EIGHT_SHORT ? this.#eightShort(spectrum, shape) : this.#oneLong(spectrum, sequence, shape);
    const out = new Float32Array(LONG);
    for (let i = 0; i < LONG; i++) out[i] = (this.#overlap[i] + frame[i]) / FULL_SCALE;
    this.#overlap = frame.slice(LONG);
    this.#shape = shape;
    return out;
  }

  #oneLong(spectrum: Float64Array, sequence: number, shape: number): Float64Array {
    const frame = new Float64Array(2 * LONG);
    frame.set(this.#long.transform(spectrum));
    if (sequence === LONG_STOP) {
      frame.fill(0, 0, SHORT_START);
      rise(frame, SHORT_START, RISES.short[this.#shape]);
    } else {
      rise(frame, 0, RISES.long[this.#shape]);
    }
    if (sequence === LONG_START) {
      fall(frame, LONG + SHORT_START, RISES.short[shape]);
      frame.fill(0, LONG + SHORT_START + SHORT);
    } else {
      fall(frame, LONG, RISES.long[shape]);
    }
    return frame;
  }

  #eightShort(spectrum: Float64Array, shape: number): Float64Array {
    const frame = new Float64Array(2 * LONG);
    for (let window = 0; window < 8; window++) {
      const part = this.#short.transform(spectrum.subarray(window * SHORT, (window + 1) * SHORT));
      rise(part, 0, RISES.short[window === 0 ? this.#shape : shape]);
      fall(part, SHORT, RISES.short[shape]);
      const at = SHORT_START + window * SHORT;
      for (let i = 0; i < part.length; i++) frame[at + i] += part[i];
    }
    return frame;
  }
}

function rise(frame: Float64Array, at: number, half: Float64Array): void {
  for (let i = 0; i < half.length; i++) frame[at + i] *= half[i];
}

function fall(frame: Float64Array, at: number, half: Float64Array): void {
  for (let i = 0; i < half.length; i++) frame[at + i] *= half[half.length - 1 - i];
}

function sineRise(length: number): Float64Array {
  return Float64Array.from({ length }, (_, i) => Math.sin(((i + 0.5) * Math.PI) / (2 * length)));
}

/** The root of a Kaiser window's running sum: its square and its mirror's add up to one. */
function kaiserBesselRise(length: number, alpha: number): Float64Array {
  const kaiser = Float64Array.from({ length: length + 1 }, (_, i) =>
    besselI0(Math.PI * alpha * Math.sqrt(1 - ((2 * i) / length - 1) ** 2)),
  );
  const total = kaiser.reduce((sum, value) => sum + value);
  let running = 0;
  return kaiser.subarray(0, length).map((value) => {
    running += value;
    return Math.sqrt(running / total);
  });
}

/** Of `lines` spectral lines: twice as many samples, by a DCT-IV that is half a complex transform. */
class InverseMdct {
  readonly #lines: number;
  readonly #fft: Fft;
  readonly #cos: Float64Array;
  readonly #sin: Float64Array;
  readonly #dct: Float64Array;
  readonly #out: Float64Array;

  constructor(lines: number) {
    this.#lines = lines;
    this.#fft = new Fft(lines / 2);
    const angle = (k: number): number => (Math.PI * (8 * k + 1)) / (8 * lines);
    this.#cos = Float64Array.from({ length: lines / 2 }, (_, k) => Math.cos(angle(k)));
    this.#sin = Float64Array.from({ length: lines / 2 }, (_, k) => Math.sin(angle(k)));
    this.#dct = new Float64Array(lines);
    this.#out = new Float64Array(2 * lines);
  }

  /** Not windowed. The array is used again for the next transform. */
  transform(spectrum: Float64Array): Float64Array {
    const [lines, half, dct, out] = [this.#lines, this.#lines / 2, this.#dct, this.#out];
    this.#dctIv(spectrum);
    const scale = 1 / lines;
    for (let n = 0; n < half; n++) {
      out[n] = scale * dct[half + n];
      out[half + n] = -scale * dct[lines - 1 - n];
      out[lines + n] = -scale * dct[half - 1 - n];
      out[lines + half + n] = -scale * dct[n];
    }
    return out;
  }

  #dctIv(spectrum: Float64Array): void {
    const [lines, half, dct, cos, sin] = [this.#lines, this.#lines / 2, this.#dct, this.#cos, this.#sin];
    const { re, im } = this.#fft.input;
    for (let k = 0; k < half; k++) {
      const [a, b] = [spectrum[2 * k], spectrum[lines - 1 - 2 * k]];
      re[k] = a * cos[k] + b * sin[k];
      im[k] = b * cos[k] - a * sin[k];
    }
    const t = this.#fft.transform();
    for (let n = 0; n < half; n++) {
      dct[2 * n] = t.re[n] * cos[n] + t.im[n] * sin[n];
      dct[lines - 1 - 2 * n] = t.re[n] * sin[n] - t.im[n] * cos[n];
    }
  }
}

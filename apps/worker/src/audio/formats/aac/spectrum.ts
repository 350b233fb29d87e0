/** Quantised spectral lines to their values: ISO/IEC 14496-3, 4.6.1 to 4.6.3, and noise substitution, 4.6.13. */
import type { BitReader } from '../bits.ts';
import type { FrameLayout, Pulse } from './channel-stream.ts';
import { type Codebook, SPECTRA } from './codebooks.ts';
import { DamagedFrame } from './damaged-frame.ts';

const NOISE = 13;
const ESCAPE = 16;
/** 13 bits are the most that an escape can hold. */
const MAX_QUANTISED = 8191;
const MAX_ESCAPE_PREFIX = 8;
/** |q|^(4/3) by |q|, the pulses' 15 at most included. */
const POWER = Float64Array.from({ length: MAX_QUANTISED + 64 }, (_, q) => q ** (4 / 3));

export interface CodedSpectrum {
  readonly layout: FrameLayout;
  readonly books: Uint8Array;
  readonly scales: Int16Array;
  readonly pulses: readonly Pulse[];
}

/** 1024 lines, window after window. `random` gives -1 to 1. Throws DamagedFrame. */
export function readSpectrum(bits: BitReader, coded: CodedSpectrum, random: () => number): Float64Array {
  const { layout, books, scales, pulses } = coded;
  const { bandCount, groups, offsets } = layout;
  const windowLines = offsets[offsets.length - 1];
  const spectrum = new Float64Array(1024);
  let firstWindow = 0;
  for (let group = 0; group < groups.length; group++) {
    for (let band = 0; band < bandCount; band++) {
      const book = books[group * bandCount + band];
      // Empty, or made from the other channel.
      if (book === 0 || book > NOISE) continue;
      for (let window = firstWindow; window < firstWindow + groups[group]; window++) {
        const at = window * windowLines;
        const lines = spectrum.subarray(at + offsets[band], at + offsets[band + 1]);
        if (book === NOISE) fillWithNoise(lines, random);
        else readLines(bits, SPECTRA[book - 1], lines);
      }
    }
    firstWindow += groups[group];
    if (bits.overrun) throw new DamagedFrame('The frame ends within its spectrum.');
  }
  for (const { line, amplitude } of pulses) {
    const band = offsets.findLastIndex((start) => start <= line);
    const isCoded = band < bandCount && books[band] > 0 && books[band] < NOISE;
    if (isCoded) spectrum[line] += spectrum[line] > 0 ? amplitude : -amplitude;
  }
  return dequantise(spectrum, books, scales, layout);
}

function readLines(bits: BitReader, book: Codebook, lines: Float64Array): void {
  const { dimension, values, isUnsigned } = book;
  for (let at = 0; at < lines.length; at += dimension) {
    const code = book.read(bits);
    for (let i = 0; i < dimension; i++) lines[at + i] = values[code + i];
    if (!isUnsigned) continue;
    for (let i = 0; i < dimension; i++) if (lines[at + i] !== 0 && bits.read(1) === 1) lines[at + i] *= -1;
    for (let i = 0; i < dimension; i++) {
      if (Math.abs(lines[at + i]) === ESCAPE) lines[at + i] = Math.sign(lines[at + i]) * readEscape(bits);
    }
  }
}

/** As many ones as the number has bits more than four, a zero, and the bits below its first. */
function readEscape(bits: BitReader): number {
  let prefix = 0;
  while (bits.read(1) === 1) {
    prefix++;
    if (prefix > MAX_ESCAPE_PREFIX) throw new DamagedFrame('An escape that is too long.');
  }
  return 2 ** (prefix + 4) + bits.read(prefix + 4);
}

/** Noise of energy one: its scale is its energy. */
function fillWithNoise(lines: Float64Array, random: () => number): void {
  let energy = 0;
  for (let i = 0; i < lines.length; i++) {
    lines[i] = random();
    energy += lines[i] ** 2;
  }
  const scale = 1 / Math.sqrt(energy);
  for (let i = 0; i < lines.length; i++) lines[i] *= scale;
}

function dequantise(
  spectrum: Float64Array,
  books: Uint8Array,
  scales: Int16Array,
  { groups, bandCount, offsets }: FrameLayout,
): Float64Array {
  const windowLines = offsets[offsets.length - 1];
  let firstLine = 0;
  for (let group = 0; group < groups.length; group++) {
    for (let band = 0; band < bandCount; band++) {
      const index = group * bandCount + band;
      const isNoise = books[index] === NOISE;
      const scale = 2 ** ((scales[index] - (isNoise ? 0 : 100)) / 4);
      for (let window = 0; window < groups[group]; window++) {
        const at = firstLine + window * windowLines;
        for (let line = at + offsets[band]; line < at + offsets[band + 1]; line++) {
          const value = spectrum[line];
          spectrum[line] = scale * (isNoise ? value : Math.sign(value) * POWER[Math.abs(value)]);
        }
      }
    }
    firstLine += groups[group] * windowLines;
  }
  return spectrum;
}

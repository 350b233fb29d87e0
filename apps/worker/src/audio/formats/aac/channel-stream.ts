/** The bits of one channel in one frame: ISO/IEC 14496-3, 4.4.2.7 (individual_channel_stream). */
import type { BitReader } from '../bits.ts';
import type { Bands } from './bands.ts';
import { SCALE_FACTORS } from './codebooks.ts';
import { DamagedFrame } from './damaged-frame.ts';
import { readSpectrum } from './spectrum.ts';
import { readTns, type TnsFilter } from './tns.ts';

export const ZERO_BOOK = 0;
const RESERVED_BOOK = 12;
export const NOISE_BOOK = 13;
/** Right channels that are the left one, scaled: out of phase (14) or in phase (15). */
export const INTENSITY_BOOKS = [14, 15];

export const EIGHT_SHORT = 2;

/** How a frame is cut into windows; both channels of a pair may share it. */
export interface FrameLayout {
  /** Long, long before short, eight short, long after short. */
  readonly sequence: number;
  /** 0: sine, 1: Kaiser-Bessel derived. */
  readonly shape: number;
  /** Bands from this one on are empty. */
  readonly bandCount: number;
  /** How many windows share scale factors, group by group. One group of one window, but for short ones. */
  readonly groups: readonly number[];
  /** Where the bands of one window begin. */
  readonly offsets: Uint16Array;
}

export interface ChannelStream {
  readonly layout: FrameLayout;
  /** Of each band, at [group * bandCount + band]. */
  readonly books: Uint8Array;
  /** As the books: scale factor, intensity position or noise energy, whatever the book needs. */
  readonly scales: Int16Array;
  /** By window. */
  readonly tns: readonly (readonly TnsFilter[])[];
  /** 1024 spectral lines, window after window. */
  readonly spectrum: Float64Array;
}

export function readLayout(bits: BitReader, bands: Bands): FrameLayout {
  bits.read(1);
  const sequence = bits.read(2);
  const shape = bits.read(1);
  const isShort = sequence === EIGHT_SHORT;
  const offsets = isShort ? bands.short : bands.long;
  const bandCount = bits.read(isShort ? 4 : 6);
  if (bandCount >= offsets.length) throw new DamagedFrame('More bands than there are.');
  if (!isShort) {
    if (bits.read(1) === 1) throw new DamagedFrame('Prediction, which AAC-LC does not have.');
    return { sequence, shape, bandCount, groups: [1], offsets };
  }
  const groups = [1];
  for (let window = 1; window < 8; window++) {
    if (bits.read(1) === 1) groups[groups.length - 1]++;
    else groups.push(1);
  }
  return { sequence, shape, bandCount, groups, offsets };
}

/** `shared`: the layout that stood before both channels of a pair. Throws DamagedFrame. */
export function readChannelStream(
  bits: BitReader,
  bands: Bands,
  shared: FrameLayout | undefined,
  random: () => number,
): ChannelStream {
  const globalGain = bits.read(8);
  const layout = shared ?? readLayout(bits, bands);
  const books = readBooks(bits, layout);
  const scales = readScales(bits, books, globalGain);
  const pulses = bits.read(1) === 1 ? readPulses(bits, layout) : [];
  const tns = bits.read(1) === 1 ? readTns(bits, layout) : [];
  if (bits.read(1) === 1) throw new DamagedFrame('Gain control, which AAC-LC does not have.');
  const spectrum = readSpectrum(bits, { layout, books, scales, pulses }, random);
  return { layout, books, scales, tns, spectrum };
}

/** Runs of bands with the same codebook. */
function readBooks(bits: BitReader, { sequence, bandCount, groups }: FrameLayout): Uint8Array {
  const lengthBits = sequence === EIGHT_SHORT ? 3 : 5;
  const goesOn = 2 ** lengthBits - 1;
  const books = new Uint8Array(groups.length * bandCount);
  for (let group = 0; group < groups.length; group++) {
    for (let band = 0; band < bandCount; ) {
      const book = bits.read(4);
      let length = 0;
      let part: number;
      do {
        part = bits.read(lengthBits);
        length += part;
      } while (part === goesOn);
      // Past the end there are only empty runs.
      if (book === RESERVED_BOOK || band + length > bandCount || bits.overrun) {
        throw new DamagedFrame('Sections that do not fit.');
      }
      books.fill(book, group * bandCount + band, group * bandCount + band + length);
      band += length;
    }
  }
  return books;
}

/** Each scale is a difference to the one before of its kind. */
function readScales(bits: BitReader, books: Uint8Array, globalGain: number): Int16Array {
  const difference = (): number => SCALE_FACTORS.values[SCALE_FACTORS.read(bits)];
  let factor = globalGain;
  let position = 0;
  let noise: number | undefined;
  return Int16Array.from(books, (book) => {
    if (book === ZERO_BOOK) return 0;
    if (book === NOISE_BOOK) {
      noise = noise === undefined ? globalGain - 90 + bits.read(9) - 256 : noise + difference();
      return noise;
    }
    if (INTENSITY_BOOKS.includes(book)) {
      position += difference();
      return position;
    }
    factor += difference();
    if (factor < 0 || factor > 255) throw new DamagedFrame('A scale factor out of range.');
    return factor;
  });
}

/** A few single lines that are louder than their codebook can say. */
export interface Pulse {
  readonly line: number;
  readonly amplitude: number;
}

function readPulses(bits: BitReader, { sequence, offsets }: FrameLayout): Pulse[] {
  if (sequence === EIGHT_SHORT) throw new DamagedFrame('Pulses in short windows.');
  const count = bits.read(2) + 1;
  const startBand = bits.read(6);
  if (startBand >= offsets.length) throw new DamagedFrame('Pulses past the last band.');
  let line = offsets[startBand];
  return Array.from({ length: count }, () => {
    line += bits.read(5);
    if (line >= 1024) throw new DamagedFrame('Pulses past the last line.');
    return { line, amplitude: bits.read(4) };
  });
}

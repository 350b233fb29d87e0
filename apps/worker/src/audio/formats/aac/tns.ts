/** Temporal noise shaping: a filter along the spectrum gives sound its shape in time. ISO/IEC 14496-3, 4.6.9. */
import type { BitReader } from '../bits.ts';
import type { Bands } from './bands.ts';
import { type ChannelStream, EIGHT_SHORT, type FrameLayout } from './channel-stream.ts';
import { DamagedFrame } from './damaged-frame.ts';

export interface TnsFilter {
  /** Bands it covers, counted down from where the filter before it ended. */
  readonly length: number;
  readonly isDownwards: boolean;
  /** Of the all-pole filter, without its leading one. */
  readonly coefficients: Float64Array;
}

const MAX_ORDER = { short: 7, long: 12 };

/** Filters of each window. Throws DamagedFrame. */
export function readTns(bits: BitReader, { sequence }: FrameLayout): TnsFilter[][] {
  const isShort = sequence === EIGHT_SHORT;
  const maxOrder = isShort ? MAX_ORDER.short : MAX_ORDER.long;
  return Array.from({ length: isShort ? 8 : 1 }, () => {
    const count = bits.read(isShort ? 1 : 2);
    const resolution = count > 0 ? 3 + bits.read(1) : 0;
    return Array.from({ length: count }, () => {
      const length = bits.read(isShort ? 4 : 6);
      const order = bits.read(isShort ? 3 : 5);
      if (order > maxOrder) throw new DamagedFrame('A shaping filter that is too long.');
      if (order === 0) return { length, isDownwards: false, coefficients: new Float64Array(0) };
      const isDownwards = bits.read(1) === 1;
      const width = resolution - bits.read(1);
      const reflections = Array.from({ length: order }, () => reflection(bits.readSigned(width), resolution));
      return { length, isDownwards, coefficients: predictor(reflections) };
    });
  });
}

/** Reflection coefficients are sines, quantised in equal steps of angle, a little finer below zero. */
function reflection(quantised: number, resolution: number): number {
  const steps = 2 ** (resolution - 1) + (quantised < 0 ? 0.5 : -0.5);
  return Math.sin((quantised * Math.PI) / 2 / steps);
}

/** Reflection to prediction coefficients: the step-up recursion. */
function predictor(reflections: readonly number[]): Float64Array {
  const a = new Float64Array(reflections.length);
  for (const [m, k] of reflections.entries()) {
    const before = a.slice(0, m);
    for (let i = 0; i < m; i++) a[i] += k * before[m - 1 - i];
    a[m] = k;
  }
  return a;
}

/** Filters the spectrum in place. */
export function applyTns({ layout, tns, spectrum }: ChannelStream, bands: Bands): void {
  const { sequence, offsets, bandCount } = layout;
  const highest = Math.min(sequence === EIGHT_SHORT ? bands.shortTns : bands.longTns, bandCount);
  const lastBand = offsets.length - 1;
  for (const [window, filters] of tns.entries()) {
    let top = lastBand;
    for (const { length, isDownwards, coefficients } of filters) {
      const bottom = Math.max(top - length, 0);
      const from = offsets[Math.min(bottom, highest)];
      const to = offsets[Math.min(top, highest)];
      const lines = spectrum.subarray(window * offsets[lastBand]).subarray(from, to);
      filter(isDownwards ? lines.reverse() : lines, coefficients);
      if (isDownwards) lines.reverse();
      top = bottom;
    }
  }
}

function filter(lines: Float64Array, coefficients: Float64Array): void {
  for (let n = 0; n < lines.length; n++) {
    const reach = Math.min(n, coefficients.length);
    for (let i = 0; i < reach; i++) lines[n] -= coefficients[i] * lines[n - 1 - i];
  }
}

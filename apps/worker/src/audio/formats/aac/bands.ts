/** Scale factor bands: the widths, in spectral lines, of the stretches that share a scale factor. ISO/IEC 14496-3, 4.5.4. */

/** Sample rates by their index in a stream. */
export const SAMPLE_RATES = [
  96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000, 7_350,
];

export interface Bands {
  /** Of one long window, 1024 lines: where each band begins, and where the last one ends. */
  readonly long: Uint16Array;
  /** Of one of eight short windows, 128 lines. */
  readonly short: Uint16Array;
  /** Temporal noise shaping reaches up to this band. */
  readonly longTns: number;
  readonly shortTns: number;
}

/** From widths written as `times x width`. */
function offsets(runs: string): Uint16Array {
  const widths = runs.split(' ').flatMap((run) => {
    const [times, width] = run.split('x').map(Number);
    return Array.from({ length: times }, () => width);
  });
  let end = 0;
  return Uint16Array.of(
    0,
    ...widths.map((width) => {
      end += width;
      return end;
    }),
  );
}

const SHORT_96 = offsets('6x4 3x8 1x16 1x28 1x36');
const SHORT_48 = offsets('5x4 3x8 3x12 3x16');
const SHORT_24 = offsets('7x4 3x8 2x12 2x16 1x20');
const SHORT_16 = offsets('8x4 2x8 2x12 1x16 2x20');
const SHORT_8 = offsets('7x4 4x8 1x12 1x16 2x20');
const LONG_96 = offsets('14x4 5x8 5x12 2x16 1x24 1x28 1x36 1x44 11x64');
const LONG_64 = offsets('14x4 4x8 3x12 3x16 1x20 2x24 1x28 1x36 18x40');
const LONG_48 = offsets('10x4 7x8 4x12 2x16 2x20 2x24 2x28 19x32 1x96');
const LONG_32 = offsets('10x4 7x8 4x12 2x16 2x20 2x24 2x28 22x32');
const LONG_24 = offsets('11x4 10x8 4x12 3x16 2x20 2x24 2x28 1x32 2x36 1x40 1x44 1x48 2x52 5x64');
const LONG_16 = offsets('11x8 9x12 4x16 3x20 2x24 2x28 1x32 1x36 2x40 1x44 1x48 1x52 1x56 1x60 3x64');
const LONG_8 = offsets('13x12 7x16 4x20 3x24 2x28 1x32 2x36 1x40 1x44 1x48 1x52 1x56 1x60 1x64 1x80');

/** By sample rate index. */
export const BANDS: readonly Bands[] = [
  { long: LONG_96, short: SHORT_96, longTns: 31, shortTns: 9 },
  { long: LONG_96, short: SHORT_96, longTns: 31, shortTns: 9 },
  { long: LONG_64, short: SHORT_96, longTns: 34, shortTns: 10 },
  { long: LONG_48, short: SHORT_48, longTns: 40, shortTns: 14 },
  { long: LONG_48, short: SHORT_48, longTns: 42, shortTns: 14 },
  { long: LONG_32, short: SHORT_48, longTns: 51, shortTns: 14 },
  { long: LONG_24, short: SHORT_24, longTns: 46, shortTns: 14 },
  { long: LONG_24, short: SHORT_24, longTns: 46, shortTns: 14 },
  { long: LONG_16, short: SHORT_16, longTns: 42, shortTns: 14 },
  { long: LONG_16, short: SHORT_16, longTns: 42, shortTns: 14 },
  { long: LONG_16, short: SHORT_16, longTns: 42, shortTns: 14 },
  { long: LONG_8, short: SHORT_8, longTns: 39, shortTns: 14 },
  { long: LONG_8, short: SHORT_8, longTns: 39, shortTns: 14 },
];

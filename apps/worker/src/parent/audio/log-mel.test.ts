import { describe, expect, it } from 'vitest';
import { plainWaveform, whisperFile, whisperFloats } from '../../../../../test/support/audio-golden.ts';
import { framesOf, type LogMelConfig, logMelWindow } from './log-mel.ts';

interface GoldenMel {
  readonly shape: readonly [bins: number, frames: number];
  readonly sum: number;
  readonly mel_bin_sums: readonly number[];
  readonly block100_sums: readonly number[];
  readonly samples: Readonly<Record<string, number>>;
  readonly bin?: string;
  readonly bin_shape?: readonly [bins: number, frames: number];
}

interface GoldenSignal {
  readonly samples: number;
  readonly first16: readonly number[];
  readonly variants: Readonly<Record<string, GoldenMel>>;
}

const MOST = 2e-4;
const MEAN = 5e-6;
/** Of one bin: torch's float32 noise in a bin that a pure tone leaves empty. */
const BIN_MEAN = 2e-5;

const golden: { readonly signals: Readonly<Record<string, GoldenSignal>> } = JSON.parse(
  new TextDecoder().decode(whisperFile('index.json.gz')),
);

/** x_n in -0.5 to 0.5 of the generator that made the golden noise. */
function noise(seed: number, length: number): number[] {
  let state = seed;
  return Array.from({ length }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32 - 0.5;
  });
}

const made = (length: number, at: (n: number) => number): number[] => Array.from({ length }, (_, n) => at(n));
const sine = (amplitude: number, hz: number) => (n: number) =>
  amplitude * Math.sin((2 * Math.PI * hz * n) / 16_000);

const jfk = (): Float32Array => plainWaveform(whisperFile('jfk_16k_mono_s16.wav.gz'));

const chirp = (n: number): number => {
  const t = n / 16_000;
  return 0.5 * Math.sin(2 * Math.PI * (100 * t + (6900 / 8) * t * t));
};

const SIGNALS: Readonly<Record<string, () => ArrayLike<number>>> = {
  jfk,
  tone440: () => made(48_000, sine(0.5, 440)),
  cos1000: () => made(48_000, (n) => 0.25 * Math.sin((2 * Math.PI * 1000 * n) / 16_000 + Math.PI / 2)),
  chirp: () => made(64_000, chirp),
  lcg5s: () => noise(12_345, 80_000).map((value) => value * 0.2),
  lcg_short: () => noise(777, 150).map((value) => value * 0.2),
  silence: () => made(16_000, () => 0),
  quiet: () => made(32_000, sine(2 ** -15, 300)),
  clipped: () => made(32_000, (n) => Math.min(Math.max(Math.fround(sine(4, 200)(n)), -1), 1)),
  long35s: () => [...made(320_000, sine(0.4, 500)), ...noise(99, 240_000).map((value) => value * 0.01)],
};

/** `30s_80`: seconds of the window, mel bins. */
function configOf(variant: string): LogMelConfig {
  const [seconds, bins] = variant.split('s_').map(Number);
  return { melBins: bins, fftSize: 400, hopLength: 160, windowSamples: seconds * 16_000 };
}

const cases = Object.entries(golden.signals).flatMap(([name, signal]) =>
  Object.entries(signal.variants).map(([variant, want]) => ({ name, variant, signal, want })),
);

describe('logMelWindow', () => {
  it.each(cases)('The log-mel of $name is that of Whisper ($variant)', ({ name, variant, signal, want }) => {
    const waveform = Float32Array.from(SIGNALS[name]());
    expect(waveform).toHaveLength(signal.samples);
    const config = configOf(variant);
    const frames = framesOf(config);
    const mel = logMelWindow(waveform, 0, config);
    expect([config.melBins, frames]).toEqual(want.shape);

    for (const [place, value] of Object.entries(want.samples)) {
      const [bin, frame] = place.split(',').map(Number);
      expect(Math.abs(mel[bin * frames + frame] - value)).toBeLessThan(MOST);
    }
    const bins = Array.from({ length: config.melBins }, (_, bin) =>
      mel.subarray(bin * frames, (bin + 1) * frames),
    );
    for (const [bin, row] of bins.entries()) {
      expect(Math.abs(sum(row) - want.mel_bin_sums[bin])).toBeLessThan(BIN_MEAN * frames);
    }
    for (const [block, wantSum] of want.block100_sums.entries()) {
      const columns = bins.map((row) => sum(row.subarray(block * 100, (block + 1) * 100)));
      expect(Math.abs(sum(columns) - wantSum)).toBeLessThan(MEAN * 100 * config.melBins);
    }
    if (want.bin && want.bin_shape) expectFirstFrames(bins, whisperFloats(want.bin), want.bin_shape[1]);
  });

  it('A window from the middle of a waveform has the log-mel that it has alone', () => {
    const waveform = jfk();
    const config = configOf('5s_80');
    expect(logMelWindow(waveform, 32_123, config)).toEqual(logMelWindow(waveform.slice(32_123), 0, config));
  });

  it('The log-mel past the end of the waveform is that of silence', () => {
    const mel = logMelWindow(jfk(), 176_000, configOf('5s_80'));
    expect(mel.every((value) => value === -1.5)).toBe(true);
  });
});

function sum(values: ArrayLike<number>): number {
  return Array.from(values).reduce((total, value) => total + value, 0);
}

function expectFirstFrames(bins: readonly Float32Array[], want: Float32Array, frames: number): void {
  expect(want).toHaveLength(bins.length * frames);
  let [most, total] = [0, 0];
  for (const [bin, row] of bins.entries()) {
    for (let frame = 0; frame < frames; frame++) {
      const difference = Math.abs(row[frame] - want[bin * frames + frame]);
      most = Math.max(most, difference);
      total += difference;
    }
  }
  expect(most).toBeLessThan(MOST);
  expect(total / want.length).toBeLessThan(MEAN);
}

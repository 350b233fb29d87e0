import { readFileSync } from 'node:fs';
import { describe, expect, it, test } from 'vitest';
import { plainWaveform, whisperFile, whisperFloats } from '../../../../../test/support/audio-golden.ts';
import {
  framesOf,
  type LogMelConfig,
  logMelWindow,
  loudestOf,
  melFilters,
  rangesToHear,
  recordingMel,
} from './log-mel.ts';
import { WAVEFORM_RATE, type Waveform, WaveformWriter } from './waveform.ts';

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

describe('melFilters', () => {
  it.each([80, 128])('The filters for %i bins are those of Whisper', (bins) => {
    const want = whisperFloats(`mel_filters_${bins}x201.f32.gz`);
    const got = new Float32Array(bins * 201);
    for (const [bin, { start, weights }] of melFilters(bins, 400, 16_000).entries()) {
      got.set(weights, bin * 201 + start);
    }
    const largest = got.reduce((most, value, i) => Math.max(most, Math.abs(value - want[i])), 0);
    expect(largest).toBeLessThan(1e-8);
  });
});

describe('recording mel', () => {
  interface GoldenWindow {
    readonly start_frame: number;
    readonly mel_bin_sums: readonly number[];
    readonly samples: Readonly<Record<string, number>>;
  }

  /** What openai-whisper makes of a recording of 70 s; lab/real/whisper/make_long_mel.py made it. */
  const golden: {
    readonly seed: number;
    readonly length: number;
    readonly loudest_second: number;
    readonly levels: readonly number[];
    readonly first16: readonly number[];
    readonly windows: readonly GoldenWindow[];
  } = JSON.parse(
    readFileSync(new URL('../../../../../lab/real/whisper/fixtures/long-mel.json', import.meta.url), 'utf8'),
  );

  /** As in log-mel.test.ts. */
  const MOST = 2e-4;
  const BIN_MEAN = 2e-5;

  const CONFIG: LogMelConfig = { melBins: 80, fftSize: 400, hopLength: 160, windowSamples: 480_000 };

  /** Loud noise for one second, quieter noise or silence before and after it. */
  function recording(): { waveform: Waveform; samples: Int32Array } {
    const { levels, loudest_second, length } = golden;
    let state = golden.seed;
    const samples = Int32Array.from({ length }, (_, n) => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      const second = Math.floor(n / WAVEFORM_RATE);
      const most = second === loudest_second ? 16_000 : levels[second % levels.length];
      return ((state >>> 16) % (2 * most + 1)) - most;
    });
    return { waveform: waveformOf(Float32Array.from(samples, (value) => value / 0x8000)), samples };
  }

  function waveformOf(samples: Float32Array): Waveform {
    const writer = new WaveformWriter();
    writer.append(samples);
    return writer.finish();
  }

  const loudest = (waveform: Waveform, windows: number): number =>
    Math.max(
      ...rangesToHear(waveform.length, CONFIG, windows).map((range) => loudestOf(waveform, range, CONFIG)),
    );

  const { waveform, samples } = recording();
  const ofWhole = loudest(waveform, 1);

  test('The test has the recording of which openai-whisper took the log-mel', () => {
    expect([...samples.subarray(0, 16)]).toEqual(golden.first16);
  });

  test.each(golden.windows)(
    'The window of a long recording at frame $start_frame has the log-mel that it has in openai-whisper',
    ({ start_frame, mel_bin_sums, samples: wanted }) => {
      const { mel } = recordingMel(waveform, start_frame * CONFIG.hopLength, CONFIG, ofWhole);
      const frames = framesOf(CONFIG);
      expect(mel).toHaveLength(80 * frames);
      for (const [place, value] of Object.entries(wanted)) {
        const [bin, frame] = place.split(',').map(Number);
        expect(Math.abs(mel[bin * frames + frame] - value), place).toBeLessThan(MOST);
      }
      for (const [bin, sum] of mel_bin_sums.entries()) {
        const row = mel.subarray(bin * frames, (bin + 1) * frames);
        const total = row.reduce((before, value) => before + value, 0);
        expect(Math.abs(total - sum), `bin ${bin}`).toBeLessThan(BIN_MEAN * frames);
      }
    },
  );

  test('The loudest value of a recording does not depend on the ranges in which it is sought', () => {
    const { length } = waveform;
    expect(rangesToHear(length, CONFIG, 1)).toHaveLength(3);
    expect(rangesToHear(length, CONFIG, 2)).toHaveLength(2);
    expect(loudest(waveform, 2)).toBe(ofWhole);
    expect(loudest(waveform, 10)).toBe(ofWhole);
  });

  test('A recording whose frames are all in one window needs no first pass, and has the log-mel that it has alone', () => {
    for (const length of [0, 50, 16_000, 479_800]) {
      expect(rangesToHear(length, CONFIG, 10)).toEqual([]);
      const short = Float32Array.from(samples.subarray(0, length), (value) => value / 0x8000);
      const own = loudestOf(waveformOf(short), { start: 0, end: CONFIG.windowSamples }, CONFIG);
      const [part, alone] = [
        recordingMel(waveformOf(short), 0, CONFIG, undefined),
        logMelWindow(short, 0, CONFIG),
      ];
      expect(part.loudest).toBe(own);
      // Compared as bytes: to compare so many values one by one takes seconds.
      expect(Buffer.from(part.mel.buffer).equals(Buffer.from(alone.buffer))).toBe(true);
    }
    expect(rangesToHear(479_801, CONFIG, 10)).toHaveLength(1);
  });
});

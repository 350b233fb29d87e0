import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { framesOf, type LogMelConfig, logMelWindow } from './log-mel.ts';
import { loudestOf, rangesToHear, recordingMel } from './recording-mel.ts';
import { WAVEFORM_RATE, type Waveform, WaveformWriter } from './waveform.ts';

interface GoldenWindow {
  readonly start_frame: number;
  readonly mel_bin_sums: readonly number[];
  readonly samples: Readonly<Record<string, number>>;
}

/** What openai-whisper makes of a recording of 70 s; test/real/whisper/make_long_mel.py made it. */
const golden: {
  readonly seed: number;
  readonly length: number;
  readonly loudest_second: number;
  readonly levels: readonly number[];
  readonly first16: readonly number[];
  readonly windows: readonly GoldenWindow[];
} = JSON.parse(
  readFileSync(new URL('../../../../../test/real/whisper/fixtures/long-mel.json', import.meta.url), 'utf8'),
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

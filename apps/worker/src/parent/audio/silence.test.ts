import { describe, expect, it } from 'vitest';
import { plainWaveform, sampleFile } from '../../../../../test/support/audio-golden.ts';
import { cutAtSilences, type SampleRange } from './silence.ts';
import { readWaveform, type Waveform, WaveformWriter } from './waveform.ts';

const SECOND = 16_000;

function waveformOf(...parts: readonly (readonly number[] | Float32Array)[]): Waveform {
  const writer = new WaveformWriter();
  for (const part of parts) writer.append(Float32Array.from(part));
  return writer.finish();
}

/** So many seconds of noise, the same every time. */
function sound(seconds: number, loudness: number): number[] {
  let state = 1;
  return Array.from({ length: Math.round(seconds * SECOND) }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) | 0;
    return (loudness * state) / 2 ** 31;
  });
}
const voice = (seconds: number) => sound(seconds, 0.3);
const room = (seconds: number) => sound(seconds, 0.003);

const speech = (name: string): Float32Array => plainWaveform(sampleFile(`speech/${name}.wav`));

const rms = (samples: Float32Array): number =>
  Math.sqrt(samples.reduce((sum, value) => sum + value ** 2, 0) / samples.length);

/** What must hold of any cutting. */
function expectWhole(ranges: readonly SampleRange[], length: number, maxSamples: number): void {
  expect(ranges[0].start).toBe(0);
  expect(ranges.at(-1)?.end).toBe(length);
  for (const [i, { start, end }] of ranges.entries()) {
    expect(end - start).toBeGreaterThan(0);
    expect(end - start).toBeLessThanOrEqual(maxSamples);
    if (i > 0) expect(start).toBe(ranges[i - 1].end);
  }
}

const cutsOf = (ranges: readonly SampleRange[]): number[] =>
  ranges.slice(1).map(({ start }) => start / SECOND);

describe('cutAtSilences', () => {
  it('A waveform that fits into one window is not cut', () => {
    expect(cutAtSilences(waveformOf(voice(3)), 3 * SECOND)).toEqual([{ start: 0, end: 3 * SECOND }]);
  });

  it('A waveform is cut in the middle of the last silence of each window', () => {
    const waveform = waveformOf(voice(2), room(1), voice(1.5), room(1), voice(4), room(1), voice(2));
    const ranges = cutAtSilences(waveform, 6 * SECOND);
    expectWhole(ranges, waveform.length, 6 * SECOND);
    expect(cutsOf(ranges)).toEqual([5, 10]);
  });

  it('A gap inside a word is not taken for a silence', () => {
    const waveform = waveformOf(voice(2), room(0.6), voice(2), room(0.1), voice(2));
    const [cut] = cutsOf(cutAtSilences(waveform, 5 * SECOND));
    expect(cut).toBeCloseTo(2.3, 1);
  });

  it('Speech without a pause is cut where it is quietest', () => {
    const waveform = waveformOf(voice(3.5), sound(0.16, 0.02), voice(4));
    const [cut] = cutsOf(cutAtSilences(waveform, 5 * SECOND));
    expect(cut).toBeGreaterThan(3.5);
    expect(cut).toBeLessThan(3.66);
  });

  it('The pauses of a quiet recording in a loud room are found', () => {
    const waveform = waveformOf(sound(3, 0.03), sound(1, 0.006), sound(3, 0.03));
    expect(cutsOf(cutAtSilences(waveform, 5 * SECOND))).toEqual([3.5]);
  });

  it.each([
    ['digital silence', waveformOf(new Float32Array(100 * SECOND))],
    ['one steady noise', waveformOf(sound(100, 0.1))],
  ])('A waveform of %s is cut into few windows', (_, waveform) => {
    const ranges = cutAtSilences(waveform, 30 * SECOND);
    expectWhole(ranges, waveform.length, 30 * SECOND);
    expect(ranges.length).toBeLessThanOrEqual(5);
  });

  it('Real speech is cut only in its pauses', () => {
    const phrases = ['en_circle', 'en_fox', 'en_stars', 'en_numbers', 'es_circulo', 'en_lighthouse'].map(
      speech,
    );
    const waveform = waveformOf(...phrases.flatMap((phrase) => [phrase, room(0.5)]));
    const whole = rms(readWaveform(waveform, 0, waveform.length));
    for (const seconds of [5, 6, 8, 12]) {
      const ranges = cutAtSilences(waveform, seconds * SECOND);
      expectWhole(ranges, waveform.length, seconds * SECOND);
      for (const { start } of ranges.slice(1)) {
        expect(rms(readWaveform(waveform, start - 1600, start + 1600))).toBeLessThan(whole / 20);
      }
    }
  });
});

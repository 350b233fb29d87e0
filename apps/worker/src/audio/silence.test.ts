import { describe, expect, it } from 'vitest';
import { sampleFile } from '../../../../test/support/audio-golden.ts';
import { cutAtSilences, type SampleRange } from './silence.ts';
import { type Waveform, WaveformWriter } from './waveform.ts';

const SECOND = 16_000;

function waveformOf(...parts: readonly (readonly number[] | Float32Array)[]): Waveform {
  const writer = new WaveformWriter();
  for (const part of parts) writer.append(Float32Array.from(part));
  return writer.finish();
}

/** So many seconds of a voice-like buzz, or of a room's noise. */
const sound = (seconds: number, loudness: number): number[] =>
  Array.from({ length: seconds * SECOND }, (_, i) => loudness * Math.sin(i * 0.1) * Math.sin(i * i));
const voice = (seconds: number) => sound(seconds, 0.3);
const room = (seconds: number) => sound(seconds, 0.003);

const speech = (name: string): Float32Array => {
  const bytes = sampleFile(`speech/${name}.wav`);
  return Float32Array.from(new Int16Array(bytes.buffer, 44), (value) => value / 0x8000);
};

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
  it('leaves alone what fits into one window', () => {
    expect(cutAtSilences(waveformOf(voice(3)), 3 * SECOND)).toEqual([{ start: 0, end: 3 * SECOND }]);
  });

  it('cuts in the middle of the last silence of each window', () => {
    const waveform = waveformOf(voice(2), room(1), voice(1.5), room(1), voice(4), room(1), voice(2));
    const ranges = cutAtSilences(waveform, 6 * SECOND);
    expectWhole(ranges, waveform.length, 6 * SECOND);
    expect(cutsOf(ranges)).toEqual([5, 10]);
  });

  it('does not take the gap inside a word for a silence', () => {
    const waveform = waveformOf(voice(2), room(0.6), voice(2), room(0.1), voice(2));
    const [cut] = cutsOf(cutAtSilences(waveform, 5 * SECOND));
    expect(cut).toBeCloseTo(2.3, 1);
  });

  it('cuts speech without a pause where it is quietest', () => {
    const waveform = waveformOf(voice(3.5), sound(0.16, 0.2), voice(4));
    const [cut] = cutsOf(cutAtSilences(waveform, 5 * SECOND));
    expect(cut).toBeGreaterThan(3.5);
    expect(cut).toBeLessThan(3.66);
  });

  it('finds the pauses of a quiet recording in a loud room', () => {
    const waveform = waveformOf(sound(3, 0.03), sound(1, 0.006), sound(3, 0.03));
    expect(cutsOf(cutAtSilences(waveform, 5 * SECOND))).toEqual([3.5]);
  });

  it.each([
    ['digital silence', waveformOf(new Float32Array(100 * SECOND))],
    ['one steady noise', waveformOf(sound(100, 0.1))],
  ])('cuts %s into as few windows as it can', (_, waveform) => {
    const ranges = cutAtSilences(waveform, 30 * SECOND);
    expectWhole(ranges, waveform.length, 30 * SECOND);
    expect(ranges.length).toBeLessThanOrEqual(5);
  });

  it('never cuts a spoken phrase that has a pause on both sides', () => {
    const phrases = ['en_circle', 'en_fox', 'en_stars', 'en_numbers', 'es_circulo', 'en_lighthouse'].map(
      speech,
    );
    const pause = room(0.5);
    const waveform = waveformOf(...phrases.flatMap((phrase) => [phrase, pause]));
    const ranges = cutAtSilences(waveform, 8 * SECOND);
    expectWhole(ranges, waveform.length, 8 * SECOND);
    const pauses = phrases.map((_, i) => {
      const before = phrases.slice(0, i + 1).reduce((sum, phrase) => sum + phrase.length, 0);
      return { start: before + i * pause.length, end: before + (i + 1) * pause.length };
    });
    for (const { start: cut } of ranges.slice(1)) {
      expect(pauses.some(({ start, end }) => cut >= start - SECOND / 5 && cut <= end)).toBe(true);
    }
  });
});

import { describe, expect, it } from 'vitest';
import { Resampler } from './resample.ts';

const tone = (hz: number, rate: number, samples: number): Float32Array =>
  Float32Array.from({ length: samples }, (_, i) => Math.sin((2 * Math.PI * hz * i) / rate));

function resample(samples: Float32Array, rate: number, chunk = samples.length): Float32Array {
  const resampler = new Resampler(rate, 16_000);
  const out: number[] = [];
  for (let at = 0; at < samples.length; at += chunk)
    out.push(...resampler.push(samples.subarray(at, at + chunk)));
  return Float32Array.of(...out, ...resampler.flush());
}

/** The largest value, or difference to another, away from both ends. */
function largest(samples: Float32Array, other?: Float32Array): number {
  const middle = samples.subarray(500, -500);
  return middle.reduce((most, value, i) => Math.max(most, Math.abs(value - (other?.[i + 500] ?? 0))), 0);
}

const RATES = [8000, 11_025, 22_050, 24_000, 32_000, 44_100, 44_099, 48_000, 96_000, 192_000];

describe('Resampler', () => {
  it.each(RATES)('keeps a tone of speech in place and height at %i Hz', (rate) => {
    const seconds = 1;
    const out = resample(tone(1000, rate, rate * seconds), rate);
    expect(out).toHaveLength(16_000 * seconds);
    expect(largest(out, tone(1000, 16_000, out.length))).toBeLessThan(5e-4);
  });

  it.each(RATES.filter((rate) => rate >= 32_000))('lets nothing fold down from above at %i Hz', (rate) => {
    expect(largest(resample(tone(10_500, rate, rate / 2), rate))).toBeLessThan(1e-4);
  });

  it.each([44_100, 48_000, 8000])('gives the same whatever the blocks it gets, at %i Hz', (rate) => {
    const samples = tone(440, rate, 10_007);
    const whole = resample(samples, rate);
    expect(whole).toHaveLength(Math.round((10_007 * 16_000) / rate));
    for (const chunk of [1, 7, 1000]) expect(resample(samples, rate, chunk)).toEqual(whole);
  });

  it('leaves 16 kHz untouched', () => {
    const samples = tone(7900, 16_000, 100);
    expect(resample(samples, 16_000, 33)).toEqual(samples);
  });
});

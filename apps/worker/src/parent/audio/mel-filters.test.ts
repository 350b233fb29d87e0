import { describe, expect, it } from 'vitest';
import { whisperFloats } from '../../../../../test/support/audio-golden.ts';
import { melFilters } from './mel-filters.ts';

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

import { describe, expect, it } from 'vitest';
import { silentFlac } from '../../../../../test/support/audio-files.ts';
import { plainWaveform, sampleFile } from '../../../../../test/support/audio-golden.ts';
import { decodeFlac } from './flac.ts';

const MAX_S = 1800;
const original = plainWaveform(sampleFile('speech/en_circle.wav'));

const framesOf = (bytes: Uint8Array): Float32Array[] =>
  Array.from(decodeFlac(bytes, MAX_S), ({ channels }) => channels[0].slice());

describe('decodeFlac', () => {
  it('yields one frame at a time, down to the shorter last one', () => {
    const lengths = framesOf(sampleFile('formats/en_circle.flac')).map(({ length }) => length);
    expect(new Set(lengths.slice(0, -1))).toEqual(new Set([1152]));
    expect(lengths.reduce((sum, length) => sum + length)).toBe(original.length);
  });

  it('leaves out a damaged frame and reads on at the next', () => {
    const bytes = sampleFile('formats/en_circle.flac');
    const good = framesOf(bytes);
    bytes[bytes.length - 5000] ^= 0x10;
    const read = framesOf(bytes);
    expect(read).toHaveLength(good.length - 1);
    expect(read[0]).toEqual(good[0]);
    expect(read.at(-1)).toEqual(good.at(-1));
  });

  it('reads what a cut file still has', () => {
    const bytes = sampleFile('formats/en_circle.flac');
    const read = framesOf(bytes.subarray(0, bytes.length - 5000));
    expect(read.length).toBeGreaterThan(20);
    expect(Float32Array.from(read.flatMap((frame) => [...frame]))).toEqual(
      original.subarray(0, read.length * 1152),
    );
  });

  it('holds an hour of silence in a few kilobytes, a frame at a time', () => {
    const bytes = silentFlac({ seconds: 3600, declaredSeconds: 0 });
    expect(bytes.length).toBeLessThan(16_000);
    let samples = 0;
    for (const { channels, sampleRate } of decodeFlac(bytes, MAX_S)) {
      expect(sampleRate).toBe(16_000);
      expect(channels[0].length).toBeLessThanOrEqual(65_535);
      samples += channels[0].length;
    }
    expect(samples).toBe(3600 * 16_000);
  });

  it('refuses at once what the file itself says is too long', () => {
    const bytes = silentFlac({ seconds: 1, declaredSeconds: MAX_S + 1 });
    expect(() => decodeFlac(bytes, MAX_S).next()).toThrow(expect.objectContaining({ code: 'too-large' }));
  });

  it.each([
    ['ends within its head', (bytes: Uint8Array) => bytes.subarray(0, 30)],
    ['has no STREAMINFO', (bytes: Uint8Array) => bytes.fill(0x84, 4, 5)],
  ])('refuses a file that %s', (_, spoil) => {
    const bytes = spoil(silentFlac({ seconds: 1, declaredSeconds: 1 }));
    expect(() => decodeFlac(bytes, MAX_S).next()).toThrow(expect.objectContaining({ code: 'invalid-audio' }));
  });
});

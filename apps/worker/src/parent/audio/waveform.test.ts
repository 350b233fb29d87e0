import { describe, expect, it } from 'vitest';
import { readWaveform, WaveformWriter } from './waveform.ts';

const sameBytes = (a: Float32Array, b: Float32Array): boolean =>
  Buffer.from(a.buffer).equals(Buffer.from(b.buffer));

describe('a waveform', () => {
  it('A waveform reads back what was written, over the edges of its blocks', () => {
    const writer = new WaveformWriter();
    const written = Float32Array.from({ length: 700_000 }, (_, i) => ((i % 65_536) - 32_768) / 32_768);
    for (let at = 0; at < written.length; at += 99_999) writer.append(written.subarray(at, at + 99_999));
    const waveform = writer.finish();
    expect(waveform.length).toBe(700_000);
    // Compared as bytes: so many numbers one by one take seconds.
    expect(sameBytes(readWaveform(waveform, 0, 700_000), written)).toBe(true);
    expect(sameBytes(readWaveform(waveform, 262_000, 525_000), written.slice(262_000, 525_000))).toBe(true);
  });

  it('A waveform is silent before its start and after its end', () => {
    const writer = new WaveformWriter();
    writer.append(Float32Array.of(0.25, 0.5, -1));
    expect(readWaveform(writer.finish(), -2, 5)).toEqual(Float32Array.of(0, 0, 0.25, 0.5, -1, 0, 0));
  });

  it('Samples are rounded to 16 bits, and clipped where they are too loud', () => {
    const writer = new WaveformWriter();
    writer.append(Float32Array.of(0.4 / 32_768, -0.6 / 32_768, 1, 1e30, Number.NEGATIVE_INFINITY));
    const steps = readWaveform(writer.finish(), 0, 5).map((sample) => sample * 32_768);
    expect(steps).toEqual(Float32Array.of(0, -1, 32_767, 32_767, -32_768));
  });

  it('A finished waveform takes no more memory than its samples', () => {
    const writer = new WaveformWriter();
    writer.append(new Float32Array(1000));
    expect(writer.finish().blocks.map(({ byteLength }) => byteLength)).toEqual([2000]);
  });
});

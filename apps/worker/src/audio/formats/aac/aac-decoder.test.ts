import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { UnreadableCodec } from '../unreadable-codec.ts';
import { openAac, openAdts } from './aac-decoder.ts';

interface DecodedChannel {
  readonly rms: number;
  readonly samples: readonly number[];
}

interface Golden {
  readonly positions: readonly number[];
  readonly files: Readonly<Record<string, readonly (readonly DecodedChannel[])[]>>;
}

const FOLDER = new URL('../../../../../../test/golden/aac/', import.meta.url);
const TOLERANCE = 2e-6;
const golden: Golden = JSON.parse(readFileSync(new URL('decoded.json', FOLDER), 'utf8'));

/** The frames of a raw stream, with their headers. */
function adtsFrames(name: string): Uint8Array[] {
  const bytes = new Uint8Array(readFileSync(new URL(name, FOLDER)));
  const frames: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; ) {
    const length = ((bytes[at + 3] & 3) << 11) | (bytes[at + 4] << 3) | (bytes[at + 5] >> 5);
    frames.push(bytes.subarray(at, at + length));
    at += length;
  }
  return frames;
}

const rms = (samples: Float32Array): number =>
  Math.sqrt(samples.reduce((sum, value) => sum + value ** 2, 0) / samples.length);

describe('AAC-LC', () => {
  it.each(Object.entries(golden.files))('comes out as ffmpeg decodes it: %s', (name, want) => {
    const frames = adtsFrames(name);
    expect(frames).toHaveLength(want.length);
    const decoder = openAdts(frames[0]);
    for (const [i, frame] of frames.entries()) {
      const channels = decoder.decode(frame);
      expect(channels).toHaveLength(2);
      for (const [c, channel] of (channels ?? []).entries()) {
        const { rms: wantRms, samples } = want[i][c];
        const allowed = TOLERANCE * Math.max(wantRms, ...samples.map(Math.abs));
        expect(Math.abs(rms(channel) - wantRms), `frame ${i}`).toBeLessThanOrEqual(allowed);
        for (const [s, position] of golden.positions.entries()) {
          expect(Math.abs(channel[position] - samples[s]), `frame ${i}`).toBeLessThanOrEqual(allowed);
        }
      }
    }
  });

  it('tells a damaged frame and decodes the next ones', () => {
    const frames = adtsFrames('transients_44k_stereo.aac');
    const decoder = openAdts(frames[0]);
    const good = frames.map((frame) => decoder.decode(frame));
    const afterDamage = openAdts(frames[0]);
    const read = frames.map((frame, i) => afterDamage.decode(i === 10 ? frame.subarray(0, 60) : frame));
    expect(read[10]).toBeUndefined();
    // A frame overlaps the one before it, and none before that.
    expect(read.slice(12)).toEqual(good.slice(12));
  });

  it('survives frames of noise', () => {
    const [first] = adtsFrames('transients_44k_stereo.aac');
    const decoder = openAdts(first);
    let state = 1;
    const random = () => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      return state >>> 24;
    };
    const read = Array.from({ length: 300 }, (_, i) =>
      decoder.decode(Uint8Array.from({ length: 9 + i }, random)),
    );
    const sound = read.flatMap((channels) => channels ?? []);
    expect(sound.length).toBeLessThan(read.length);
    expect(sound.every((channel) => channel.every(Number.isFinite))).toBe(true);
  });
});

describe('openAac', () => {
  it('finds the core of HE-AAC, at half the rate', () => {
    // Object type 5 (SBR) at 22.05 kHz, mono, extended to 44.1 kHz, over object type 2 (LC).
    expect(openAac(Uint8Array.of(0x2b, 0x8a, 0x08, 0x00)).sampleRate).toBe(22_050);
  });

  it('takes a rate that is written out', () => {
    // Object type 2, rate index 15, 24 bits of 16,000, mono.
    expect(openAac(Uint8Array.of(0x17, 0x80, 0x1f, 0x40, 0x08)).sampleRate).toBe(16_000);
  });

  it.each([
    ['AAC Main', [0x0a, 0x10], UnreadableCodec],
    ['frames of 960', [0x12, 0x14], UnreadableCodec],
    ['nothing', [], Error],
  ])('does not open %s', (_, config, error) => {
    expect(() => openAac(Uint8Array.from(config))).toThrow(error);
  });
});

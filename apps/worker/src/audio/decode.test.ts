import { LehrError } from '@lehr/shared';
import { describe, expect, it } from 'vitest';
import {
  plainWaveform,
  sampleFile,
  sampleManifest,
  whisperFile,
} from '../../../../test/support/audio-golden.ts';
import { decodeAudio } from './decode.ts';
import { logMelWindow } from './log-mel.ts';
import { readWaveform } from './waveform.ts';

const LIMITS = { maxDurationS: 60, timeoutMs: 10_000 };

async function decoded(bytes: Uint8Array): Promise<Float32Array> {
  const { waveform } = await decodeAudio(bytes, LIMITS);
  return readWaveform(waveform, 0, waveform.length);
}

const original = plainWaveform(sampleFile('speech/en_circle.wav'));

/** Whole files, sample by sample: nothing may be late, early or missing. */
function correlation(a: Float32Array, b: Float32Array): number {
  let [ab, aa, bb] = [0, 0, 0];
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    ab += a[i] * b[i];
    aa += a[i] ** 2;
    bb += b[i] ** 2;
  }
  return ab / Math.sqrt(aa * bb);
}

const rms = (a: Float32Array, b: Float32Array): number =>
  Math.sqrt(a.reduce((sum, value, i) => sum + (value - b[i]) ** 2, 0) / a.length);

const largest = (a: Float32Array, b: Float32Array): number =>
  a.reduce((most, value, i) => Math.max(most, Math.abs(value - b[i])), 0);

const LOSSLESS = [
  'aiff',
  'flac',
  'extensible_s24.wav',
  'f32.wav',
  'f64.wav',
  'chunk.wav',
  's24.wav',
  's32.wav',
];

describe('decodeAudio', () => {
  it.each(sampleManifest.formats.map(({ file }) => file))(
    'hears the same speech, at the same time, in %s',
    async (file) => {
      const samples = await decoded(sampleFile(file));
      expect(correlation(samples, original)).toBeGreaterThan(0.99);
      // WebM does not say where its last packet ends: at most one packet is left over.
      expect(Math.abs(samples.length - original.length)).toBeLessThanOrEqual(file.endsWith('webm') ? 320 : 0);
    },
  );

  it.each(
    sampleManifest.formats
      .map(({ file }) => file)
      .filter((file) => LOSSLESS.some((end) => file.endsWith(end))),
  )('loses nothing of %s', async (file) => {
    expect(await decoded(sampleFile(file))).toEqual(original);
  });

  it('loses of 8 bits what they cannot hold: linear a step, companded ones as much as ffmpeg', async () => {
    expect(largest(await decoded(sampleFile('formats/en_circle_u8.wav')), original)).toBeLessThan(1 / 128);
    expect(largest(await decoded(sampleFile('formats/en_circle_alaw.wav')), original)).toBeLessThan(
      0.015_595,
    );
    expect(largest(await decoded(sampleFile('formats/en_circle_mulaw.wav')), original)).toBeLessThan(
      0.014_619,
    );
  });

  it('mixes two channels to their mean: speech on the left alone has half its height', async () => {
    const samples = await decoded(sampleFile('formats/en_circle_stereo_left_only.wav'));
    expect(samples).toEqual(original.map((value) => value / 2));
  });

  it("resamples and mixes whisper's own recording as whisper does", async () => {
    const samples = (await decoded(whisperFile('jfk_first_5200ms.flac'))).subarray(0, 80_000);
    const want = plainWaveform(whisperFile('jfk_16k_mono_s16.wav.gz')).subarray(0, 80_000);
    expect(rms(samples, want)).toBeLessThan(2e-4);
    const config = { melBins: 80, fftSize: 400, hopLength: 160, windowSamples: 80_000 } as const;
    const [mel, wantMel] = [samples, want].map((waveform) => logMelWindow(waveform, 0, config));
    const difference = mel.reduce((sum, value, i) => sum + Math.abs(value - wantMel[i]), 0) / mel.length;
    expect(difference).toBeLessThan(3e-4);
  });

  it('names what is wrong with each file that must be refused', async () => {
    const refused = sampleManifest.broken.filter((entry) => entry.expect === 'error');
    const told: Record<string, string> = {};
    for (const { file } of refused) {
      const error = await decoded(sampleFile(file)).catch((reason) => reason);
      expect(error).toBeInstanceOf(LehrError);
      expect(error.code).toBe('invalid-audio');
      told[file] = error.message;
    }
    expect(told).toMatchInlineSnapshot(`
      {
        "broken/bits_13.wav": "The WAV format tag 0x1 with 13 bits is not supported: send PCM of 8, 16, 24 or 32 bits, float of 32 or 64, A-law or mu-law.",
        "broken/chunk_size_overflow.wav": "The WAV file does not say its format (no fmt chunk).",
        "broken/huge_sample_rate.wav": "The file says its sample rate is 4000000000 Hz; 8000 to 192000 Hz are supported.",
        "broken/no_data_chunk.wav": "The WAV file has no sound in it (no data chunk).",
        "broken/random_bytes.wav": "The file is no audio that Lehr knows: its 4096 bytes are not wav, aiff, flac, mp3, ogg, mp4, m4a, aac or webm.",
        "broken/text_renamed.wav": "The file is no audio that Lehr knows: its 760 bytes are not wav, aiff, flac, mp3, ogg, mp4, m4a, aac or webm.",
        "broken/tiny_sample_rate.wav": "The file says its sample rate is 1 Hz; 8000 to 192000 Hz are supported.",
        "broken/truncated_header.wav": "The WAV file ends within its format (fmt chunk).",
        "broken/unknown_format_tag.wav": "The WAV format tag 0x7a21 with 16 bits is not supported: send PCM of 8, 16, 24 or 32 bits, float of 32 or 64, A-law or mu-law.",
        "broken/video_only.mp4": "The mp4 file has no audio track.",
        "broken/zero_channels.wav": "The file says it has 0 channels; 1 to 8 are supported.",
        "broken/zero_length.wav": "The audio file is empty (0 bytes).",
        "broken/zero_sample_rate.wav": "The file says its sample rate is 0 Hz; 8000 to 192000 Hz are supported.",
        "broken/zero_size_chunks.wav": "The WAV file does not say its format (no fmt chunk).",
      }
    `);
  });

  it('refuses samples that are no numbers, and clips those that are too loud', async () => {
    await expect(decoded(sampleFile('broken/nan_inf_float.wav'))).rejects.toThrow('NaN or infinite');
    const loud = sampleFile('formats/en_circle_f32.wav');
    const view = new DataView(loud.buffer);
    for (let at = loud.length - 4000; at < loud.length; at += 4) view.setFloat32(at, 1e30, true);
    const samples = await decoded(loud);
    expect(samples.subarray(-1000).every((value) => value === 1)).toBe(true);
  });

  it('reads what is there when a file claims more', async () => {
    expect(await decoded(sampleFile('broken/claims_4gb.wav'))).toHaveLength(16_000);
    expect(await decoded(sampleFile('broken/data_cut_in_half.wav'))).toEqual(original.subarray(0, 18_981));
    expect(await decoded(sampleFile('broken/wav_named.mp3'))).toHaveLength(9_978);
    expect(await decoded(sampleFile('broken/one_sample.wav'))).toHaveLength(1);
  });

  it('stops at the first sample past the limit', async () => {
    const bytes = sampleFile('formats/en_circle.mp3');
    const { durationS } = await decodeAudio(bytes, { ...LIMITS, maxDurationS: 2.38 });
    expect(durationS).toBeCloseTo(2.3726, 4);
    const tooShort = decodeAudio(bytes, { ...LIMITS, maxDurationS: 2.37 });
    await expect(tooShort).rejects.toMatchObject({ code: 'too-large' });
  });
});

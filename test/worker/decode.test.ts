/** Real files of every format, decoded by the real ffmpeg. */
import { readFileSync } from 'node:fs';
import { LehrError } from '@lehr/shared';
import { describe, expect, it } from 'vitest';
import { decodeAudio } from '../../apps/worker/src/parent/audio/decode.ts';
import { logMelWindow } from '../../apps/worker/src/parent/audio/log-mel.ts';
import { readWaveform } from '../../apps/worker/src/parent/audio/waveform.ts';
import { PCM16, silentFlac, wavChunk, wavFormat, wavOf } from '../support/audio-files.ts';
import { plainWaveform, sampleFile, sampleManifest, whisperFile } from '../support/audio-golden.ts';

const LIMITS = { maxDurationS: 60, timeoutMs: 10_000 };

async function decoded(bytes: Uint8Array): Promise<Float32Array> {
  const { waveform } = await decodeAudio(bytes, LIMITS);
  return readWaveform(waveform, 0, waveform.length);
}

/** Of a 16-bit sample. */
const STEP = 1 / 0x8000;

const original = plainWaveform(sampleFile('speech/en_circle.wav'));

/** Of whole files, sample by sample: nothing may be late, early or missing. */
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

/**
 * The ffmpeg that wrote the WebM file gave its container a delay of 2.2 ms and its Opus one of 6.5 ms. ffmpeg 5.1 follows the Opus, 9.0
 * the container; with one delay for both, the two agree.
 */
function formatFile(name: string): Uint8Array {
  const bytes = sampleFile(name);
  if (!name.endsWith('webm')) return bytes;
  const file = Buffer.from(bytes.buffer);
  // CodecDelay: the element 0x56aa with a body of three bytes, in nanoseconds.
  file.writeUIntBE(6_500_000, file.indexOf('56aa83', 'hex') + 3, 3);
  return bytes;
}

/** ffmpeg 5.1 does not cut the padding that fills the last frame of AAC in mp4; 9.0 does. */
const extraSamples = (file: string): number => (file.endsWith('m4a') ? 1023 : 0);

const tone = (hz: number, rate: number, samples: number): Float32Array =>
  Float32Array.from({ length: samples }, (_, i) => Math.sin((2 * Math.PI * hz * i) / rate));

/** Mono, 32-bit floats. */
const floatWav = (samples: Float32Array, rate: number): Uint8Array =>
  wavOf(
    wavFormat({ tag: 3, channels: 1, rate, bits: 32 }),
    wavChunk('data', new Uint8Array(samples.buffer as ArrayBuffer)),
  );

/** The largest value, or difference to another, away from both ends. */
function largestWithin(samples: Float32Array, other?: Float32Array): number {
  const middle = samples.subarray(500, -500);
  return middle.reduce((most, value, i) => Math.max(most, Math.abs(value - (other?.[i + 500] ?? 0))), 0);
}

const adtsFile = (): Uint8Array =>
  new Uint8Array(readFileSync(new URL('../golden/aac/transients_44k_stereo.aac', import.meta.url)));

/** Views of the frames, with their headers. */
function adtsFrames(bytes: Uint8Array): Uint8Array[] {
  const frames: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; ) {
    const length = ((bytes[at + 3] & 3) << 11) | (bytes[at + 4] << 3) | (bytes[at + 5] >> 5);
    frames.push(bytes.subarray(at, at + length));
    at += length;
  }
  return frames;
}

const RATES = [8000, 11_025, 24_000, 44_100, 44_099, 48_000, 192_000];

describe('decodeAudio', () => {
  it.each(sampleManifest.formats.map(({ file }) => file))(
    'The speech in %s is decoded, and nothing of it is late, early or missing',
    async (file) => {
      const samples = await decoded(formatFile(file));
      expect(correlation(samples, original)).toBeGreaterThan(0.99);
      const extra = samples.length - original.length;
      expect(extra).toBeGreaterThanOrEqual(0);
      expect(extra).toBeLessThanOrEqual(extraSamples(file));
    },
  );

  it.each(
    sampleManifest.formats
      .map(({ file }) => file)
      .filter((file) => LOSSLESS.some((end) => file.endsWith(end))),
  )('Nothing of %s is lost', async (file) => {
    expect(await decoded(sampleFile(file))).toEqual(original);
  });

  it('A file of 8-bit, A-law or mu-law samples differs from the original by no more than its format rounds', async () => {
    expect(largest(await decoded(sampleFile('formats/en_circle_u8.wav')), original)).toBeLessThan(1 / 128);
    expect(largest(await decoded(sampleFile('formats/en_circle_alaw.wav')), original)).toBeLessThan(
      0.015_595,
    );
    expect(largest(await decoded(sampleFile('formats/en_circle_mulaw.wav')), original)).toBeLessThan(
      0.014_619,
    );
  });

  it('Two channels are mixed to their mean, so speech on the left channel alone has half its amplitude', async () => {
    const samples = await decoded(sampleFile('formats/en_circle_stereo_left_only.wav'));
    const half = original.map((value) => value / 2);
    expect(samples).toHaveLength(half.length);
    expect(largest(samples, half)).toBeLessThanOrEqual(STEP / 2);
  });

  it("Whisper's own recording is resampled and mixed as Whisper does it", async () => {
    const samples = (await decoded(whisperFile('jfk_first_5200ms.flac'))).subarray(0, 80_000);
    const want = plainWaveform(whisperFile('jfk_16k_mono_s16.wav.gz')).subarray(0, 80_000);
    expect(rms(samples, want)).toBeLessThan(2e-4);
    const config = { melBins: 80, fftSize: 400, hopLength: 160, windowSamples: 80_000 } as const;
    const [mel, wantMel] = [samples, want].map((waveform) => logMelWindow(waveform, 0, config));
    const difference = mel.reduce((sum, value, i) => sum + Math.abs(value - wantMel[i]), 0) / mel.length;
    expect(difference).toBeLessThan(3e-4);
  });

  it('Every invalid file is refused, and the message says what is wrong with it', async () => {
    const refused = sampleManifest.broken.filter((entry) => entry.expect === 'error');
    const messages: Record<string, string> = {};
    for (const { file } of refused) {
      const error = await decoded(sampleFile(file)).catch((reason) => reason);
      expect(error).toBeInstanceOf(LehrError);
      expect(error.code).toBe('invalid-audio');
      messages[file] = error.message;
    }
    expect(messages).toMatchInlineSnapshot(`
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

  it('Samples that are not finite are refused, and samples that are too loud are clipped', async () => {
    await expect(decoded(sampleFile('broken/nan_inf_float.wav'))).rejects.toThrow('NaN or infinite');
    const loud = sampleFile('formats/en_circle_f32.wav');
    const view = new DataView(loud.buffer);
    for (let at = loud.length - 4000; at < loud.length; at += 4) view.setFloat32(at, 1e30, true);
    const samples = await decoded(loud);
    expect(samples.subarray(-1000).every((value) => value === 1 - STEP)).toBe(true);
  });

  it('A file that claims more than it holds is decoded as far as it goes', async () => {
    expect(await decoded(sampleFile('broken/claims_4gb.wav'))).toHaveLength(16_000);
    expect(await decoded(sampleFile('broken/data_cut_in_half.wav'))).toEqual(original.subarray(0, 18_981));
    expect(await decoded(sampleFile('broken/wav_named.mp3'))).toHaveLength(9_978);
    expect(await decoded(sampleFile('broken/one_sample.wav'))).toHaveLength(1);
  });

  it('A file is refused at the first sample past the limit', async () => {
    const bytes = sampleFile('formats/en_circle.mp3');
    const { durationS } = await decodeAudio(bytes, { ...LIMITS, maxDurationS: 2.38 });
    expect(durationS).toBeCloseTo(2.3726, 4);
    const tooShort = decodeAudio(bytes, { ...LIMITS, maxDurationS: 2.37 });
    await expect(tooShort).rejects.toMatchObject({ code: 'too-large' });
  });

  it.each([
    ['declares its length', 400],
    ['declares no length', 0],
  ])('A file of many channels at a high rate that %s may be shorter', async (_, declaredSeconds) => {
    // 16 times as many samples a second, over all channels, as stereo of 48 kHz.
    const sound = { rate: 192_000, channels: 8 };
    const limits = { ...LIMITS, maxDurationS: 160 };
    const long = silentFlac({ ...sound, seconds: 400, declaredSeconds });
    await expect(decodeAudio(long, limits)).rejects.toMatchObject({
      code: 'too-large',
      message: 'The audio is longer than the 10 seconds allowed for 8 channels at 192000 Hz.',
    });
    const short = silentFlac({ ...sound, seconds: 10, declaredSeconds: 10 });
    expect((await decodeAudio(short, limits)).durationS).toBe(10);
  });

  it('A codec of older WAV files is decoded', async () => {
    // One block of IMA ADPCM, 4 bytes of header and 4 bits a sample: silence.
    const format = wavFormat({ tag: 0x11, channels: 1, rate: 16_000, bits: 4 }, [2, 0, 249, 1]);
    format.writeUInt16LE(256, 20);
    const samples = await decoded(wavOf(format, wavChunk('data', Buffer.alloc(256))));
    expect(samples.length).toBeGreaterThanOrEqual(504);
    expect(samples.every((value) => value === 0)).toBe(true);
  });

  it('The channels of a WAV file are mixed frame by frame', async () => {
    const frames = Buffer.from(Int16Array.of(0, 16_384, -32_768, 8192).buffer);
    const bytes = wavOf(wavFormat({ ...PCM16, channels: 2 }), wavChunk('data', frames));
    expect(await decoded(bytes)).toEqual(Float32Array.of(0.25, -0.375));
  });
});

describe('Resampling', () => {
  it.each(RATES)(
    'A tone of 1 kHz keeps its phase and its amplitude when it is resampled from %i Hz',
    async (rate) => {
      const samples = await decoded(floatWav(tone(1000, rate, rate), rate));
      expect(samples).toHaveLength(16_000);
      expect(largestWithin(samples, tone(1000, 16_000, samples.length))).toBeLessThan(5e-4);
    },
  );

  it.each(RATES.filter((rate) => rate >= 32_000))(
    'A tone above the new range is removed at %i Hz',
    async (rate) => {
      expect(largestWithin(await decoded(floatWav(tone(10_500, rate, rate / 2), rate)))).toBeLessThan(1e-4);
    },
  );

  it('A file of 16 kHz is only rounded to 16 bits', async () => {
    const samples = tone(7900, 16_000, 100);
    const [read, wanted] = [
      await decoded(floatWav(samples, 16_000)),
      samples.map((value) => Math.min(value, 1 - STEP)),
    ];
    expect(read).toHaveLength(wanted.length);
    expect(largest(read, wanted)).toBeLessThanOrEqual(STEP / 2);
  });
});

describe('A damaged or unusual file', () => {
  it('A FLAC file loses a damaged frame and keeps the others', async () => {
    const bytes = sampleFile('formats/en_circle.flac');
    bytes[bytes.length - 5000] ^= 0x10;
    const samples = await decoded(bytes);
    expect(samples.length).toBeGreaterThan(original.length - 3 * 1152);
    expect(samples.subarray(0, 20_000)).toEqual(original.subarray(0, 20_000));
    expect(samples.subarray(-2000)).toEqual(original.subarray(-2000));
  });

  it.each([
    ['flac', 5000],
    ['mp3', 5000],
    ['opus.ogg', 2000],
    ['vorbis.ogg', 5000],
    ['webm', 2000],
    ['aiff', 20_001],
    ['s24.wav', 20_001],
  ])('A file of %s that was cut is decoded as far as it goes', async (end, bytesCut) => {
    const name = end.endsWith('wav') ? `formats/en_circle_${end}` : `formats/en_circle.${end}`;
    const bytes = formatFile(name);
    const samples = await decoded(bytes.subarray(0, bytes.length - bytesCut));
    expect(samples.length).toBeGreaterThan(original.length / 3);
    expect(samples.length).toBeLessThan(original.length);
    expect(correlation(samples, original)).toBeGreaterThan(0.99);
  });

  it.each([
    ['ends within its head', (bytes: Uint8Array) => bytes.subarray(0, 30)],
    ['has no STREAMINFO', (bytes: Uint8Array) => bytes.fill(0x84, 4, 5)],
  ])('A FLAC file that %s is refused', async (_, damage) => {
    const bytes = damage(silentFlac({ seconds: 1, declaredSeconds: 1 }));
    await expect(decoded(bytes)).rejects.toMatchObject({ code: 'invalid-audio' });
  });

  it('An mp4 file is decoded when its index is at its end, however far away', async () => {
    const bytes = sampleFile('formats/en_circle.m4a');
    const index = Buffer.from(bytes).indexOf('moov') - 4;
    const free = Buffer.alloc(300_000);
    free.writeUInt32BE(free.length);
    free.write('free', 4);
    const far = new Uint8Array(Buffer.concat([bytes.subarray(0, index), free, bytes.subarray(index)]));
    expect(await decoded(far)).toEqual(await decoded(bytes));
  });

  it('A WebM file ends where the DiscardPadding of its last packet says', async () => {
    const withPadding = (ns: number): Uint8Array => {
      const bytes = Buffer.from(formatFile('formats/en_circle.webm'));
      // The element 0x75a2 with a body of three bytes.
      bytes.writeIntBE(ns, bytes.indexOf('75a283', 'hex') + 3, 3);
      return new Uint8Array(bytes);
    };
    const whole = await decoded(withPadding(0));
    const cut = await decoded(withPadding(8_000_000));
    expect(whole.length - cut.length).toBe(128);
    // The resampler mixes the last samples with what follows them.
    const kept = cut.length - 100;
    expect(cut.subarray(0, kept)).toEqual(whole.subarray(0, kept));
  });

  it('Raw AAC frames are decoded, and a damaged one costs no more than its neighbours', async () => {
    const bytes = adtsFile();
    const good = await decoded(bytes);
    // 53 frames of 1024 samples at 44.1 kHz.
    expect(good.length).toBeCloseTo((53 * 1024 * 16_000) / 44_100, -1);
    const frames = adtsFrames(bytes);
    expect(frames).toHaveLength(53);
    frames[10].fill(0xff, 20, 60);
    const damaged = await decoded(bytes);
    expect(damaged.length).toBeGreaterThan(good.length - 3 * 372);
    expect(damaged.length).toBeLessThanOrEqual(good.length);
    // Up to the frame before the damaged one, which shares its end with it.
    expect(damaged.subarray(0, 3000)).toEqual(good.subarray(0, 3000));
  });

  it('A file of 1 Hz, which would be as many seconds long as it has samples, is refused', async () => {
    const bytes = sampleFile('formats/en_circle.aiff');
    // An 80-bit float behind the 8 bytes of channels, frames and bits: 1.0.
    bytes.set(Buffer.from('3fff8000000000000000', 'hex'), Buffer.from(bytes).indexOf('COMM') + 16);
    const code = expect.stringMatching(/^(too-large|invalid-audio)$/);
    await expect(decoded(bytes)).rejects.toMatchObject({ code });
  });

  it('Decoding ends with the reason of the signal that aborts', async () => {
    const cancel = new AbortController();
    const reason = new Error('cancelled');
    for (const file of ['formats/en_circle.mp3', 'speech/en_circle.wav']) {
      const decoding = decodeAudio(sampleFile(file), LIMITS, { signal: cancel.signal });
      cancel.abort(reason);
      await expect(decoding).rejects.toBe(reason);
    }
  });
});

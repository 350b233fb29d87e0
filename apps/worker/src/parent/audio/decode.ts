/** Any audio file to a 16 kHz mono waveform. The bytes decide what the file is, and samples are counted while they are decoded. */

import { LehrError } from '@lehr/shared';
import { type AudioLimits, type DecodeOptions, decodeWithFfmpeg, tooLong } from './ffmpeg.ts';
import { type AudioFormat, sniffFormat } from './sniff.ts';
import { isPlain, plainSamples, readWavHeader } from './wav.ts';
import { WAVEFORM_RATE, type Waveform, WaveformWriter } from './waveform.ts';

export interface DecodedAudio {
  readonly waveform: Waveform;
  readonly durationS: number;
  /** What the bytes are. */
  readonly format: AudioFormat;
}

/**
 * ffmpeg decodes, mixes and resamples all formats, except a WAV file that holds a waveform already: starting Debian's ffmpeg takes
 * 80 ms of processor time, copying such a file none. Rejects with LehrError `invalid-audio` that says what is wrong, `too-large` at
 * the first sample past the limit, or `unavailable` when there is no ffmpeg.
 */
export async function decodeAudio(
  bytes: Uint8Array,
  limits: AudioLimits,
  options: DecodeOptions = {},
): Promise<DecodedAudio> {
  const format = sniffFormat(bytes);
  const sink = new WaveformSink(limits.maxDurationS);
  for await (const samples of samplesOf(bytes, format, limits, options)) {
    options.signal?.throwIfAborted();
    sink.write(samples);
  }
  const waveform = sink.finish();
  return { waveform, durationS: waveform.length / WAVEFORM_RATE, format };
}

function samplesOf(
  bytes: Uint8Array,
  format: AudioFormat,
  limits: AudioLimits,
  options: DecodeOptions,
): AsyncIterable<Float32Array> {
  if (format === 'wav') {
    const header = readWavHeader(bytes);
    if (isPlain(header)) return plainSamples(header);
  }
  return decodeWithFfmpeg(bytes, format, limits, options);
}

/** Collects the samples of a waveform and counts them as they arrive. */
class WaveformSink {
  readonly #maxDurationS: number;
  readonly #writer = new WaveformWriter();

  constructor(maxDurationS: number) {
    this.#maxDurationS = maxDurationS;
  }

  /**
   * Throws LehrError `too-large` as soon as the sound is longer than allowed, and `invalid-audio` for NaN.
   */
  write(samples: Float32Array): void {
    if (this.#writer.length + samples.length > this.#maxDurationS * WAVEFORM_RATE)
      throw tooLong(this.#maxDurationS);
    for (let i = 0; i < samples.length; i++) {
      if (Number.isNaN(samples[i])) {
        throw new LehrError('invalid-audio', 'The file holds samples that are no numbers (NaN or infinite).');
      }
    }
    this.#writer.append(samples);
  }

  /** Throws LehrError `invalid-audio` when there was no sound at all. */
  finish(): Waveform {
    if (this.#writer.length === 0)
      throw new LehrError('invalid-audio', 'The file holds no sound (0 samples).');
    return this.#writer.finish();
  }
}

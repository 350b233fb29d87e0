/** Any audio file to a 16 kHz mono waveform. The bytes decide what the file is, and samples are counted while they are decoded. */
import { type AudioLimits, type DecodeOptions, decodeWithFfmpeg } from './ffmpeg.ts';
import { type AudioFormat, sniffFormat } from './sniff.ts';
import { isPlain, plainSamples, readWavHeader } from './wav.ts';
import { WAVEFORM_RATE, type Waveform } from './waveform.ts';
import { WaveformSink } from './waveform-sink.ts';

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

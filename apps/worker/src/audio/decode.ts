/** Any file to a 16 kHz mono waveform: told by its bytes, counted while it is decoded. Runs in the audio thread. */
import { ffmpegBlocks } from './ffmpeg.ts';
import { decodeAiff } from './formats/aiff.ts';
import { decodeContainer } from './formats/containers.ts';
import { decodeFlac } from './formats/flac.ts';
import { decodeMp3 } from './formats/mp3.ts';
import { decodeOgg } from './formats/ogg.ts';
import { UnreadableCodec } from './formats/unreadable-codec.ts';
import { decodeWav } from './formats/wav.ts';
import { decodeWebm } from './formats/webm.ts';
import type { PcmBlocks } from './pcm-block.ts';
import { type AudioFormat, sniffFormat } from './sniff.ts';
import { WAVEFORM_RATE, type Waveform } from './waveform.ts';
import { WaveformSink } from './waveform-sink.ts';

export interface AudioLimits {
  /** Seconds of sound, counted as they are decoded, whatever the file says. */
  readonly maxDurationS: number;
  /** Wall-clock time for decoding the whole file. */
  readonly timeoutMs: number;
}

export interface DecodedAudio {
  readonly waveform: Waveform;
  readonly durationS: number;
  /** What the bytes were. */
  readonly format: AudioFormat;
}

/**
 * Own readers and libraries first; ffmpeg, when there is one, for the codecs they leave out. Throws LehrError
 * `invalid-audio` with what is wrong, or `too-large` at the first sample past the limit.
 */
export async function decodeAudio(bytes: Uint8Array, limits: AudioLimits): Promise<DecodedAudio> {
  const format = sniffFormat(bytes);
  const sink = new WaveformSink(limits.maxDurationS);
  try {
    await fill(sink, blocksOf(format, bytes, limits.maxDurationS));
  } catch (error) {
    if (!(error instanceof UnreadableCodec)) throw error;
    await fill(sink, ffmpegBlocks(bytes, format, error, limits.timeoutMs));
  }
  const waveform = sink.finish();
  return { waveform, durationS: waveform.length / WAVEFORM_RATE, format };
}

async function fill(sink: WaveformSink, blocks: PcmBlocks): Promise<void> {
  for await (const block of blocks) sink.write(block);
}

function blocksOf(format: AudioFormat, bytes: Uint8Array, maxDurationS: number): PcmBlocks {
  switch (format) {
    case 'wav':
      return decodeWav(bytes);
    case 'aiff':
      return decodeAiff(bytes);
    case 'flac':
      return decodeFlac(bytes, maxDurationS);
    case 'mp3':
      return decodeMp3(bytes);
    case 'ogg':
      return decodeOgg(bytes, maxDurationS);
    case 'mp4':
    case 'aac':
      return decodeContainer(bytes, format, maxDurationS);
    case 'webm':
      return decodeWebm(bytes, maxDurationS);
    case 'caf':
    case 'asf':
    case 'amr':
    case 'au':
      throw new UnreadableCodec(format);
  }
}

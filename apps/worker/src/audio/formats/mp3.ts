import { LehrError } from '@lehr/shared';
import { MPEGDecoder } from 'mpg123-decoder';
import { checkShape, type PcmBlock } from '../pcm-block.ts';
import { chunksOf } from './chunks.ts';

/** At the lowest bitrate this is 6 s of sound; more would be decoded before anybody could count it. */
const CHUNK_BYTES = 16 * 1024;

/**
 * MPEG audio, layers I to III, by mpg123: constant and variable bitrates, the encoder's delay and padding taken off where
 * the file states them. Mono comes out as two equal channels. Damaged frames are skipped.
 */
export async function* decodeMp3(bytes: Uint8Array): AsyncGenerator<PcmBlock, void> {
  const decoder = new MPEGDecoder();
  await decoder.ready;
  try {
    for (const chunk of chunksOf(bytes, CHUNK_BYTES)) {
      const { channelData, sampleRate, samplesDecoded } = decoder.decode(chunk);
      if (samplesDecoded === 0) continue;
      checkShape(sampleRate, channelData.length);
      yield { sampleRate, channels: channelData };
    }
  } catch (cause) {
    if (cause instanceof LehrError) throw cause;
    throw new LehrError('invalid-audio', 'The mp3 file is broken beyond reading.', { cause });
  } finally {
    decoder.free();
  }
}

import { LehrError } from '@lehr/shared';
import { OggVorbisDecoder } from '@wasm-audio-decoders/ogg-vorbis';
import { checkShape, type PcmBlock } from '../pcm-block.ts';
import { chunksOf } from './chunks.ts';

/** Two bytes of Vorbis can be 4096 samples of silence: one chunk at a time is what may be decoded uncounted. */
const CHUNK_BYTES = 1024;

/** Vorbis in Ogg, by libvorbis. `head` is the stream's first packet. Throws LehrError `invalid-audio`. */
export async function* decodeVorbis(bytes: Uint8Array, head: Uint8Array): AsyncGenerator<PcmBlock, void> {
  if (head.length < 16) throw new LehrError('invalid-audio', 'The Vorbis file ends within its first header.');
  const channelCount = head[11];
  checkShape(new DataView(head.buffer, head.byteOffset).getUint32(12, true), channelCount);
  const decoder = new OggVorbisDecoder();
  await decoder.ready;
  try {
    for (const chunk of chunksOf(bytes, CHUNK_BYTES)) yield* soundIn(await decoder.decode(chunk));
    yield* soundIn(await decoder.flush());
  } catch (cause) {
    if (cause instanceof LehrError) throw cause;
    throw new LehrError('invalid-audio', 'The Vorbis file is broken beyond reading.', { cause });
  } finally {
    decoder.free();
  }
}

type Decoded = Awaited<ReturnType<OggVorbisDecoder['decode']>>;

function* soundIn({ channelData, sampleRate, samplesDecoded }: Decoded): Generator<PcmBlock, void> {
  // Before the first sound, rate and channels are unset memory.
  if (samplesDecoded === 0) return;
  checkShape(sampleRate, channelData.length);
  yield { sampleRate, channels: channelData };
}

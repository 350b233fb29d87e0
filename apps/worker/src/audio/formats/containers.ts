/** mp4 and m4a, Ogg with Opus, ADTS: taken apart by mediabunny. Not WebM: on junk in one it searches for ever. */
import { LehrError } from '@lehr/shared';
import {
  ADTS,
  BufferSource,
  type EncodedPacket,
  EncodedPacketSink,
  Input,
  type InputAudioTrack,
  Logging,
  LogLevel,
  MP4,
  OGG,
  QTFF,
} from 'mediabunny';
import { type PcmBlock, tooLong } from '../pcm-block.ts';
import { openAdts } from './aac/aac-decoder.ts';
import { decodePackets, openDecoder, type Packet, type PacketDecoder } from './packet-decoder.ts';
import { UnreadableCodec } from './unreadable-codec.ts';

/** A file is read as what its first bytes say, never as what another parser might see in it. */
const CONTAINERS = { mp4: [MP4, QTFF], ogg: [OGG], aac: [ADTS] };
export type Container = keyof typeof CONTAINERS;

// What it has to say about a hostile file is not for our log.
Logging.level = LogLevel.Silent;

/**
 * The first audio track of the file. Throws LehrError `invalid-audio`, `too-large` at once when the file itself says that
 * it is longer than allowed, or UnreadableCodec for what ffmpeg may still read.
 */
export async function* decodeContainer(
  bytes: Uint8Array,
  container: Container,
  maxDurationS: number,
): AsyncGenerator<PcmBlock, void> {
  const input = new Input({ source: new BufferSource(bytes), formats: CONTAINERS[container] });
  try {
    const track = await input.getPrimaryAudioTrack();
    if (!track) throw new LehrError('invalid-audio', `The ${container} file has no audio track.`);
    if (((await track.getDurationFromMetadata()) ?? 0) > maxDurationS) throw tooLong(maxDurationS);
    const sink = new EncodedPacketSink(track);
    const first = await sink.getFirstPacket();
    if (!first) throw new LehrError('invalid-audio', `The ${container} file holds no sound (0 packets).`);
    const decoder = await decoderOf(track, first);
    // An edit list puts the encoder's delay before time zero.
    yield* decodePackets(decoder, packetsOf(sink, first), Math.max(0, -first.timestamp));
  } catch (cause) {
    if (cause instanceof LehrError || cause instanceof UnreadableCodec) throw cause;
    throw new LehrError('invalid-audio', `The ${container} file is broken: its parts do not fit together.`, {
      cause,
    });
  } finally {
    input.dispose();
  }
}

async function* packetsOf(sink: EncodedPacketSink, first: EncodedPacket): AsyncGenerator<Packet, void> {
  for (let packet: EncodedPacket | null = first; packet; ) {
    const next: EncodedPacket | null = await sink.getNextPacket(packet);
    const isCut = !next && packet.duration > 0;
    yield isCut ? { data: packet.data, keptS: packet.duration } : { data: packet.data };
    packet = next;
  }
}

async function decoderOf(track: InputAudioTrack, first: EncodedPacket): Promise<PacketDecoder> {
  const codec = await track.getCodec();
  if (codec !== 'opus' && codec !== 'aac') {
    throw new UnreadableCodec(codec ?? (await track.getInternalCodecId()));
  }
  const head = bytesOf((await track.getDecoderConfig())?.description);
  if (head) return openDecoder(codec, head);
  if (codec === 'aac') return openAdts(first.data);
  throw new LehrError('invalid-audio', 'The Opus track has no header.');
}

function bytesOf(source: AudioDecoderConfig['description']): Uint8Array | undefined {
  if (!source) return undefined;
  return ArrayBuffer.isView(source)
    ? new Uint8Array(source.buffer, source.byteOffset, source.byteLength)
    : new Uint8Array(source);
}

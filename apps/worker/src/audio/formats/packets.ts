/** Files that are containers of packets: mp4 and m4a, webm and matroska, Ogg with Opus, ADTS. Taken apart by mediabunny. */
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
  MATROSKA,
  MP4,
  OGG,
  QTFF,
  WEBM,
} from 'mediabunny';
import { type PcmBlock, tooLong } from '../pcm-block.ts';
import { openAac, openAdts } from './aac/aac-decoder.ts';
import { openOpus } from './opus.ts';
import type { PacketDecoder } from './packet-decoder.ts';
import { UnreadableCodec } from './unreadable-codec.ts';

/** One format each: a file is read as what its first bytes say, never as what another parser might see in it. */
const CONTAINERS = { mp4: [MP4, QTFF], webm: [WEBM, MATROSKA], ogg: [OGG], aac: [ADTS] };
export type Container = keyof typeof CONTAINERS;

/** Damaged packets in a row after which there is nothing more to hope for: 10 s of Opus. */
const MAX_DAMAGED = 500;

// What it has to say about a hostile file is not for our log.
Logging.level = LogLevel.Silent;

/**
 * The first audio track of the file. Throws LehrError `invalid-audio`, `too-large` at once when the file itself says that
 * it is longer than allowed, or UnreadableCodec for what ffmpeg may still read.
 */
export async function* decodePackets(
  bytes: Uint8Array,
  container: Container,
  maxDurationS: number,
): AsyncGenerator<PcmBlock, void> {
  const input = new Input({ source: new BufferSource(bytes), formats: CONTAINERS[container] });
  let decoder: PacketDecoder | undefined;
  try {
    const track = await input.getPrimaryAudioTrack();
    if (!track) throw new LehrError('invalid-audio', `The ${container} file has no audio track.`);
    if (((await track.getDurationFromMetadata()) ?? 0) > maxDurationS) throw tooLong(maxDurationS);
    const sink = new EncodedPacketSink(track);
    const first = await sink.getFirstPacket();
    if (!first) throw new LehrError('invalid-audio', `The ${container} file holds no sound (0 packets).`);
    decoder = await decoderOf(track, first);
    yield* decodeTrack(sink, first, decoder);
  } catch (cause) {
    if (cause instanceof LehrError || cause instanceof UnreadableCodec) throw cause;
    throw new LehrError('invalid-audio', `The ${container} file is broken: its parts do not fit together.`, {
      cause,
    });
  } finally {
    decoder?.free();
    input.dispose();
  }
}

async function decoderOf(track: InputAudioTrack, first: EncodedPacket): Promise<PacketDecoder> {
  const codec = await track.getCodec();
  const config = await track.getDecoderConfig();
  const head = bytesOf(config?.description);
  if (codec === 'opus' && head) return openOpus(head);
  if (codec === 'aac') return head ? openAac(head) : openAdts(first.data);
  throw new UnreadableCodec(codec ?? codecName(await track.getInternalCodecId()));
}

/** As the container calls it, when that can be shown to anybody. */
const codecName = (id: unknown): string =>
  typeof id === 'string' && /^[\w./-]{1,32}$/.test(id) ? id : 'unknown sound';

function bytesOf(source: AudioDecoderConfig['description']): Uint8Array | undefined {
  if (!source) return undefined;
  return ArrayBuffer.isView(source)
    ? new Uint8Array(source.buffer, source.byteOffset, source.byteLength)
    : new Uint8Array(source);
}

async function* decodeTrack(
  sink: EncodedPacketSink,
  first: EncodedPacket,
  decoder: PacketDecoder,
): AsyncGenerator<PcmBlock, void> {
  const { sampleRate } = decoder;
  // An edit list puts the encoder's delay before time zero.
  let toSkip = decoder.delay || Math.round(Math.max(0, -first.timestamp) * sampleRate);
  let played = 0;
  let damaged = 0;
  for (let packet: EncodedPacket | null = first; packet; ) {
    const next: EncodedPacket | null = await sink.getNextPacket(packet);
    const channels = decoder.decode(packet.data);
    damaged = channels ? 0 : damaged + 1;
    if (damaged > MAX_DAMAGED) throw new LehrError('invalid-audio', 'The packets of the file hold no sound.');
    if (channels) {
      const { length } = channels[0];
      const start = Math.min(toSkip, length);
      const end = next ? length : start + lastLength(packet, played, length - start, sampleRate);
      toSkip -= start;
      played += end - start;
      yield { sampleRate, channels: channels.map((channel) => channel.subarray(start, end)) };
    }
    packet = next;
  }
}

/** Of the last packet only what the container says the file still lasts; all of it when it does not say. */
function lastLength(packet: EncodedPacket, played: number, length: number, sampleRate: number): number {
  if (packet.duration === 0) return length;
  const left = Math.round((packet.timestamp + packet.duration) * sampleRate) - played;
  return Math.min(Math.max(left, 0), length);
}

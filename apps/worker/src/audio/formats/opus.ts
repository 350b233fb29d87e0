import { LehrError } from '@lehr/shared';
import { OpusDecoder } from 'opus-decoder';
import { checkShape } from '../pcm-block.ts';
import type { PacketDecoder } from './packet-decoder.ts';

/** Opus states all times in samples of 48 kHz, whatever was recorded. */
const OPUS_RATE = 48_000;
/** libopus decodes at the rate we want by itself: better and cheaper than 48 kHz and a resampler after it. */
const OUTPUT_RATE = 16_000;
/** The decoder's input is a little longer; no encoder makes packets of this length. */
const MAX_PACKET_BYTES = 16 * 1024;

interface OpusHead {
  readonly channelCount: number;
  /** In samples of 48 kHz. */
  readonly preSkip: number;
  readonly streamCount: number;
  readonly coupledStreamCount: number;
  readonly mapping: readonly number[];
}

/** Opus by libopus. `head` is the OpusHead of RFC 7845, 5.1. Throws LehrError `invalid-audio`. */
export async function openOpus(head: Uint8Array): Promise<PacketDecoder> {
  const { channelCount, preSkip, streamCount, coupledStreamCount, mapping } = readHead(head);
  const decoder = new OpusDecoder({
    sampleRate: OUTPUT_RATE,
    channels: channelCount,
    streamCount,
    coupledStreamCount,
    channelMappingTable: [...mapping],
  });
  await decoder.ready;
  return {
    sampleRate: OUTPUT_RATE,
    delay: Math.round((preSkip * OUTPUT_RATE) / OPUS_RATE),
    decode: (packet) => {
      if (packet.length > MAX_PACKET_BYTES) return undefined;
      const { channelData, errors } = decoder.decodeFrame(packet);
      return errors.length === 0 ? channelData : undefined;
    },
    free: () => decoder.free(),
  };
}

function readHead(head: Uint8Array): OpusHead {
  if (head.length < 19) throw new LehrError('invalid-audio', 'The Opus header is too short.');
  const view = new DataView(head.buffer, head.byteOffset, head.byteLength);
  const channelCount = view.getUint8(9);
  checkShape(OPUS_RATE, channelCount);
  const preSkip = view.getUint16(10, true);
  // Family 0 has no table: one stream, coupled when there are two channels.
  if (view.getUint8(18) === 0 && channelCount <= 2) {
    const mapping = [0, 1].slice(0, channelCount);
    return { channelCount, preSkip, streamCount: 1, coupledStreamCount: channelCount - 1, mapping };
  }
  if (head.length < 21 + channelCount) throw new LehrError('invalid-audio', 'The Opus header is too short.');
  const streamCount = view.getUint8(19);
  const coupledStreamCount = view.getUint8(20);
  const mapping = [...head.subarray(21, 21 + channelCount)];
  const decoded = streamCount + coupledStreamCount;
  const isPossible = streamCount >= 1 && coupledStreamCount <= streamCount && decoded <= 255;
  // 255 is a silent channel.
  if (!isPossible || mapping.some((index) => index >= decoded && index !== 255)) {
    throw new LehrError('invalid-audio', 'The Opus header maps channels to streams that are not there.');
  }
  return { channelCount, preSkip, streamCount, coupledStreamCount, mapping };
}

import { LehrError } from '@lehr/shared';
import type { PcmBlock } from '../pcm-block.ts';
import { openAac } from './aac/aac-decoder.ts';
import { openOpus } from './opus.ts';

/** A codec whose packets come out of a container one by one. */
export interface PacketDecoder {
  readonly sampleRate: number;
  /** Samples at the start of the stream that are the encoder's delay, where the codec itself says so. */
  readonly delay: number;
  /** Undefined: the packet is damaged. */
  decode(packet: Uint8Array): PcmBlock['channels'] | undefined;
  free(): void;
}

export interface Packet {
  readonly data: Uint8Array;
  /** Of the last one: seconds of its sound that belong to the recording. All of it when the container does not say. */
  readonly keptS?: number;
}

/** Damaged packets in a row after which there is nothing more to hope for: 10 s of Opus. */
const MAX_DAMAGED = 500;

/** `head` is what the container keeps for the codec. Throws LehrError `invalid-audio`, or UnreadableCodec. */
export async function openDecoder(codec: 'opus' | 'aac', head: Uint8Array): Promise<PacketDecoder> {
  return codec === 'opus' ? openOpus(head) : openAac(head);
}

/** Frees the decoder at its end. `delayS`: the encoder's delay as the container knows it, used when the codec does not. */
export async function* decodePackets(
  decoder: PacketDecoder,
  packets: AsyncIterable<Packet> | Iterable<Packet>,
  delayS: number,
): AsyncGenerator<PcmBlock, void> {
  const { sampleRate } = decoder;
  let toSkip = decoder.delay || Math.round(delayS * sampleRate);
  let damaged = 0;
  try {
    for await (const { data, keptS } of packets) {
      // To a decoder, nothing is a packet that was lost on the way: it would make up sound for it.
      const channels = data.length > 0 ? decoder.decode(data) : undefined;
      damaged = channels ? 0 : damaged + 1;
      if (damaged > MAX_DAMAGED)
        throw new LehrError('invalid-audio', 'The packets of the file hold no sound.');
      if (!channels) continue;
      const { length } = channels[0];
      const start = Math.min(toSkip, length);
      const end = keptS === undefined ? length : Math.min(Math.round(keptS * sampleRate), length);
      toSkip -= start;
      yield {
        sampleRate,
        channels: channels.map((channel) => channel.subarray(start, Math.max(start, end))),
      };
    }
  } finally {
    decoder.free();
  }
}

import type { PcmBlock } from '../pcm-block.ts';

/** A codec whose packets come out of a container one by one. */
export interface PacketDecoder {
  readonly sampleRate: number;
  /** Samples at the start of the stream that are the encoder's delay, where the codec itself says so. */
  readonly delay: number;
  /** Undefined: the packet is damaged. */
  decode(packet: Uint8Array): PcmBlock['channels'] | undefined;
  free(): void;
}

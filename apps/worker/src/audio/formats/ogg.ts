import { LehrError } from '@lehr/shared';
import type { PcmBlocks } from '../pcm-block.ts';
import { decodeContainer } from './containers.ts';
import { UnreadableCodec } from './unreadable-codec.ts';
import { decodeVorbis } from './vorbis.ts';

/** First packets by how they begin. RFC 7845, 5.1; Vorbis I, 4.2.1. */
const HEADS = {
  OpusHead: 'opus',
  '\x01vorbis': 'vorbis',
  '\x7fFLAC': 'FLAC in Ogg',
  'Speex   ': 'Speex',
} as const;

/** Throws LehrError `invalid-audio`, or UnreadableCodec for what ffmpeg may still read. */
export function decodeOgg(bytes: Uint8Array, maxDurationS: number): PcmBlocks {
  const head = firstPacket(bytes);
  const start = String.fromCharCode(...head.subarray(0, 8));
  const codec = Object.entries(HEADS).find(([magic]) => start.startsWith(magic))?.[1];
  switch (codec) {
    case 'opus':
      return decodeContainer(bytes, 'ogg', maxDurationS);
    case 'vorbis':
      return decodeVorbis(bytes, head);
    default:
      throw new UnreadableCodec(codec);
  }
}

/** The payload of the first page; its segment table says how long it is. RFC 3533, 6. */
function firstPacket(bytes: Uint8Array): Uint8Array {
  const segments = bytes[26] ?? 0;
  const start = 27 + segments;
  const length = bytes.subarray(27, start).reduce((sum, size) => sum + size, 0);
  if (length === 0 || start + length > bytes.length) {
    throw new LehrError('invalid-audio', 'The Ogg file ends within its first page.');
  }
  return bytes.subarray(start, start + length);
}

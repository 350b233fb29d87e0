/** AIFF and AIFF-C with uncompressed sound. Apple, "Audio Interchange File Format", 1989 and 1991. */
import { LehrError } from '@lehr/shared';
import type { PcmBlock } from '../pcm-block.ts';
import { type PcmEncoding, type PcmLayout, readPcm } from './pcm.ts';
import { UnreadableCodec } from './unreadable-codec.ts';

/** Compression types that are none, by the bits of a sample where they matter. */
const TYPES: Readonly<Record<string, (bits: number) => PcmEncoding | undefined>> = {
  NONE: bigEndian,
  twos: bigEndian,
  sowt: (bits) => (bits <= 8 ? 's8' : bits <= 16 ? 's16le' : bits <= 24 ? 's24le' : 's32le'),
  'raw ': () => 'u8',
  fl32: () => 'f32be',
  fl64: () => 'f64be',
  alaw: () => 'alaw',
  ulaw: () => 'mulaw',
};

/** Throws LehrError `invalid-audio`, or UnreadableCodec for what ffmpeg may still read. */
export function decodeAiff(bytes: Uint8Array): Generator<PcmBlock, void> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const isCompressed = text(view, 8) === 'AIFC';
  let layout: PcmLayout | undefined;
  let sound: Uint8Array | undefined;
  let at = 12;
  while (at + 8 <= bytes.length) {
    const id = text(view, at);
    const size = view.getUint32(at + 4);
    const start = at + 8;
    const end = Math.min(start + size, bytes.length);
    if (id === 'COMM') layout = readCommon(view, start, end, isCompressed);
    // Two numbers, an offset and an alignment, come before the samples.
    if (id === 'SSND' && end - start >= 8) sound = bytes.subarray(start + 8 + view.getUint32(start), end);
    at = start + size + (size & 1);
  }
  if (!layout) throw new LehrError('invalid-audio', 'The AIFF file does not say its format (no COMM chunk).');
  if (!sound) throw new LehrError('invalid-audio', 'The AIFF file has no sound in it (no SSND chunk).');
  return readPcm(sound, layout);
}

function readCommon(view: DataView, start: number, end: number, isCompressed: boolean): PcmLayout {
  if (end - start < (isCompressed ? 22 : 18)) {
    throw new LehrError('invalid-audio', 'The AIFF file ends within its format (COMM chunk).');
  }
  const bits = view.getUint16(start + 6);
  const type = isCompressed ? text(view, start + 18) : 'NONE';
  const encodingOf = TYPES[type] ?? TYPES[type.toLowerCase()];
  if (!encodingOf) throw new UnreadableCodec(`AIFF-C ${type}`);
  const encoding = encodingOf(bits);
  if (!encoding) throw new LehrError('invalid-audio', `The AIFF file says its samples have ${bits} bits.`);
  return {
    encoding,
    channelCount: view.getUint16(start),
    sampleRate: Math.round(readExtended(view, start + 8)),
  };
}

/** Samples of odd widths stand in the upper bits of the next whole byte. */
function bigEndian(bits: number): PcmEncoding | undefined {
  if (bits < 1 || bits > 32) return undefined;
  return bits <= 8 ? 's8' : bits <= 16 ? 's16be' : bits <= 24 ? 's24be' : 's32be';
}

/** An 80-bit float: sign, 15 bits of exponent, 64 of mantissa with its leading one. */
function readExtended(view: DataView, at: number): number {
  const exponent = view.getUint16(at) & 0x7fff;
  const mantissa = view.getUint32(at + 2) * 2 ** 32 + view.getUint32(at + 6);
  return mantissa * 2 ** (exponent - 16383 - 63);
}

const text = (view: DataView, at: number): string =>
  String.fromCharCode(...Array.from({ length: 4 }, (_, i) => view.getUint8(at + i)));

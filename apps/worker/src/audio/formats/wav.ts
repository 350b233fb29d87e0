/**
 * WAV, read here and not by a library: what goes wrong with WAV files is in their chunks, and a parser of our own is
 * short enough to be sure of every one of them. Microsoft's "Multiple channel audio data and WAVE files", EBU 3306 (RF64).
 */
import { LehrError } from '@lehr/shared';
import type { PcmBlock } from '../pcm-block.ts';
import { type PcmEncoding, type PcmLayout, readPcm } from './pcm.ts';
import { UnreadableCodec } from './unreadable-codec.ts';

const PCM = 1;
const FLOAT = 3;
const ALAW = 6;
const MULAW = 7;
const EXTENSIBLE = 0xfffe;
/** Formats of telephones and old players that ffmpeg reads. */
const COMPRESSED: Readonly<Record<number, string>> = {
  2: 'ADPCM',
  17: 'IMA ADPCM',
  49: 'GSM 6.10',
  80: 'MPEG audio',
  85: 'MP3',
};
/** A sub-format of WAVE_FORMAT_EXTENSIBLE is a format tag followed by this. */
const SUBFORMAT_TAIL = '000000001000800000aa00389b71';

/** Throws LehrError `invalid-audio`, or UnreadableCodec for what ffmpeg may still read. */
export function decodeWav(bytes: Uint8Array): Generator<PcmBlock, void> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let layout: PcmLayout | undefined;
  for (const { id, start, end, size } of chunks(view)) {
    if (id === 'fmt ') layout = readFormat(view, start, end);
    if (id !== 'data') continue;
    if (!layout)
      throw new LehrError(
        'invalid-audio',
        'The WAV file has sound before it says in which format (no fmt chunk).',
      );
    // A writer that streamed, or died, left 0 as the size: then the data are all that follows.
    return readPcm(bytes.subarray(start, size === 0 ? undefined : end), layout);
  }
  throw new LehrError(
    'invalid-audio',
    layout
      ? 'The WAV file has no sound in it (no data chunk).'
      : 'The WAV file does not say its format (no fmt chunk).',
  );
}

interface Chunk {
  readonly id: string;
  readonly start: number;
  /** Where it ends in these bytes, whatever it claims. */
  readonly end: number;
  readonly size: number;
}

function* chunks(view: DataView): Generator<Chunk, void> {
  let at = 12;
  while (at + 8 <= view.byteLength) {
    const id = String.fromCharCode(...Array.from({ length: 4 }, (_, i) => view.getUint8(at + i)));
    const size = view.getUint32(at + 4, true);
    const start = at + 8;
    yield { id, start, end: Math.min(start + size, view.byteLength), size };
    // Chunks are padded to even lengths. Numbers are doubles here: a size of 2^32 - 1 does not wrap.
    at = start + size + (size & 1);
  }
}

function readFormat(view: DataView, start: number, end: number): PcmLayout {
  if (end - start < 16)
    throw new LehrError('invalid-audio', 'The WAV file ends within its format (fmt chunk).');
  const tag = view.getUint16(start, true);
  const bits = view.getUint16(start + 14, true);
  return {
    encoding: encodingOf(tag === EXTENSIBLE ? subFormat(view, start, end) : tag, bits),
    channelCount: view.getUint16(start + 2, true),
    sampleRate: view.getUint32(start + 4, true),
  };
}

function subFormat(view: DataView, start: number, end: number): number {
  if (end - start < 40)
    throw new LehrError('invalid-audio', 'The extensible WAV format names no sub-format.');
  const tail = Array.from({ length: 14 }, (_, i) =>
    view
      .getUint8(start + 26 + i)
      .toString(16)
      .padStart(2, '0'),
  );
  if (tail.join('') !== SUBFORMAT_TAIL) {
    throw new LehrError('invalid-audio', 'The extensible WAV format names an unknown sub-format.');
  }
  return view.getUint16(start + 24, true);
}

function encodingOf(tag: number, bits: number): PcmEncoding {
  if (tag === PCM) {
    switch (bits) {
      case 8:
        return 'u8';
      case 16:
      case 24:
      case 32:
        return `s${bits}le`;
    }
  }
  if (tag === FLOAT && (bits === 32 || bits === 64)) return `f${bits}le`;
  if (tag === ALAW) return 'alaw';
  if (tag === MULAW) return 'mulaw';
  if (tag in COMPRESSED) throw new UnreadableCodec(COMPRESSED[tag]);
  throw new LehrError(
    'invalid-audio',
    `The WAV format tag 0x${tag.toString(16)} with ${bits} bits is not supported: send PCM of 8, 16, 24 or 32 bits, float of 32 or 64, A-law or mu-law.`,
  );
}

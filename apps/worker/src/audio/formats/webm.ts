/**
 * WebM and Matroska, read here and not by a library (see containers.ts): as far as the packets of one audio track need it. Elements
 * are taken as they come, so a step is never back, and sizes that are unknown or too large do no harm.
 * RFC 8794 (EBML), RFC 9559 (Matroska).
 */
import { LehrError } from '@lehr/shared';
import { type PcmBlock, tooLong } from '../pcm-block.ts';
import { decodePackets, openDecoder, type Packet } from './packet-decoder.ts';
import { UnreadableCodec } from './unreadable-codec.ts';

/** Elements that hold others: stepped into. */
const SEGMENT = 0x18538067;
const INFO = 0x1549a966;
const TRACKS = 0x1654ae6b;
const TRACK = 0xae;
const CLUSTER = 0x1f43b675;
const BLOCK_GROUP = 0xa0;
const MASTERS = new Set([SEGMENT, INFO, TRACKS, TRACK, CLUSTER, BLOCK_GROUP]);

const TIMESTAMP_SCALE = 0x2ad7b1;
const DURATION = 0x4489;
const TRACK_NUMBER = 0xd7;
const TRACK_TYPE = 0x83;
const CODEC_ID = 0x86;
const CODEC_PRIVATE = 0x63a2;
const CONTENT_ENCODINGS = 0x6d80;
const SIMPLE_BLOCK = 0xa3;
const BLOCK = 0xa1;

const AUDIO = 2;
const CODECS = { A_OPUS: 'opus', A_AAC: 'aac' } as const;

interface Element {
  readonly id: number;
  readonly body: Uint8Array;
}

interface Track {
  number: number;
  type: number;
  codec: string;
  head: Uint8Array;
  isEncoded: boolean;
}

/**
 * The first audio track. Throws LehrError `invalid-audio`, `too-large` at once when the file itself says that it is longer
 * than allowed, or UnreadableCodec for what ffmpeg may still read.
 */
export async function* decodeWebm(bytes: Uint8Array, maxDurationS: number): AsyncGenerator<PcmBlock, void> {
  const { track, durationS } = readHead(bytes);
  if (!track) throw new LehrError('invalid-audio', 'The webm file has no audio track.');
  if (durationS > maxDurationS) throw tooLong(maxDurationS);
  const codec = Object.entries(CODECS).find(([id]) => track.codec === id)?.[1];
  if (!codec || track.isEncoded) throw new UnreadableCodec(track.codec);
  yield* decodePackets(await openDecoder(codec, track.head), packetsOf(bytes, track.number), 0);
}

function readHead(bytes: Uint8Array): { readonly track: Track | undefined; readonly durationS: number } {
  const tracks: Track[] = [];
  let [scaleNs, duration] = [1e6, 0];
  for (const { id, body } of elements(bytes)) {
    if (id === CLUSTER) break;
    if (id === TRACK)
      tracks.push({ number: 0, type: 0, codec: '', head: body.subarray(0, 0), isEncoded: false });
    if (id === TIMESTAMP_SCALE) scaleNs = uint(body);
    if (id === DURATION) duration = float(body);
    const track = tracks.at(-1);
    if (!track) continue;
    if (id === TRACK_NUMBER) track.number = uint(body);
    if (id === TRACK_TYPE) track.type = uint(body);
    if (id === CODEC_ID) track.codec = text(body);
    if (id === CODEC_PRIVATE) track.head = body;
    if (id === CONTENT_ENCODINGS) track.isEncoded = true;
  }
  return { track: tracks.find(({ type }) => type === AUDIO), durationS: (duration * scaleNs) / 1e9 };
}

function* packetsOf(bytes: Uint8Array, trackNumber: number): Generator<Packet, void> {
  for (const { id, body } of elements(bytes)) {
    if (id !== SIMPLE_BLOCK && id !== BLOCK) continue;
    const number = vint(body, 0);
    if (number.value !== trackNumber) continue;
    // Behind the track's number stand two bytes of time and one of flags.
    const flags = body[number.length + 2];
    for (const data of frames(body.subarray(number.length + 3), (flags >> 1) & 3)) yield { data };
  }
}

/** Every element in the order of the file, the holders of others before what they hold. */
function* elements(bytes: Uint8Array): Generator<Element, void> {
  for (let at = 0; at < bytes.length; ) {
    const idLength = Math.clz32(bytes[at]) - 23;
    const id = uint(bytes.subarray(at, at + idLength));
    const size = vint(bytes, at + idLength);
    const start = at + idLength + size.length;
    if (MASTERS.has(id)) {
      yield { id, body: bytes.subarray(start, start) };
      at = start;
    } else {
      const end = Math.min(start + size.value, bytes.length);
      yield { id, body: bytes.subarray(start, end) };
      at = end;
    }
  }
}

/** Frames of a block by the kind of its lacing: none, Xiph's, of equal size, EBML's. RFC 9559, 10.3. */
function frames(body: Uint8Array, lacing: number): Uint8Array[] {
  if (lacing === 0) return [body];
  const count = body[0] + 1;
  if (lacing === 2) {
    const size = Math.floor((body.length - 1) / count);
    return Array.from({ length: count }, (_, i) => body.subarray(1 + i * size, 1 + (i + 1) * size));
  }
  const { sizes, start } = lacing === 1 ? xiphSizes(body, count - 1) : ebmlSizes(body, count - 1);
  let at = start;
  const laced = sizes.map((size) => {
    const frame = body.subarray(at, at + size);
    at += frame.length;
    return frame;
  });
  return [...laced, body.subarray(at)];
}

interface LacedSizes {
  readonly sizes: readonly number[];
  readonly start: number;
}

/** A sum of bytes, of which all but the last are 255. */
function xiphSizes(body: Uint8Array, count: number): LacedSizes {
  let at = 1;
  const sizes = Array.from({ length: count }, () => {
    let size = 0;
    while (body[at] === 255) {
      size += 255;
      at++;
    }
    size += body[at] ?? 0;
    at++;
    return size;
  });
  return { sizes, start: at };
}

/** The first in full, then differences to the one before. */
function ebmlSizes(body: Uint8Array, count: number): LacedSizes {
  let at = 1;
  let size = 0;
  const sizes = Array.from({ length: count }, (_, i) => {
    const { value, length } = vint(body, at);
    at += length;
    size = i === 0 ? value : Math.max(0, size + value - (2 ** (7 * length - 1) - 1));
    return size;
  });
  return { sizes, start: at };
}

/** A number whose leading zero bits count the bytes that follow its first; all ones mean unknown, which is very large. */
function vint(bytes: Uint8Array, at: number): { readonly value: number; readonly length: number } {
  const length = Math.clz32(bytes[at] ?? 0) - 23;
  const value = uint(bytes.subarray(at, at + length)) - 2 ** (7 * length);
  return { value: Math.max(0, value), length };
}

/** Strings may be padded with zeros. */
const text = (bytes: Uint8Array): string => String.fromCharCode(...bytes.subarray(0, 32)).replace(/\0+$/, '');

const uint = (bytes: Uint8Array): number => bytes.reduce((value, byte) => value * 256 + byte, 0);

function float(bytes: Uint8Array): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length === 4) return view.getFloat32(0);
  return bytes.length === 8 ? view.getFloat64(0) : 0;
}

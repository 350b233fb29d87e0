/**
 * FLAC (RFC 9639), read here and not by a library: the WebAssembly build for Node loses the last frame of some files
 * and hands out a minute of silence for every kilobyte at once, before anybody can count. This one yields frame by
 * frame, exact to the bit, and allocates one frame.
 */
import { LehrError } from '@lehr/shared';
import { checkShape, type PcmBlock, tooLong } from '../pcm-block.ts';
import { afterId3 } from '../sniff.ts';
import { BitReader } from './bits.ts';
import { crc8, crc16 } from './flac-crc.ts';
import { type FlacFrameHeader, readFrameHeader } from './flac-header.ts';
import { readSubframe } from './flac-subframe.ts';

interface StreamInfo {
  readonly sampleRate: number;
  readonly channelCount: number;
  readonly bitsPerSample: number;
  /** Per channel; 0: the writer did not know. */
  readonly totalSamples: number;
  /** Where the first frame stands. */
  readonly framesAt: number;
}

/**
 * Damaged frames are left out, as players do. Throws LehrError `invalid-audio`, and `too-large` at once when the file
 * itself says that it is longer than allowed.
 */
export function* decodeFlac(bytes: Uint8Array, maxDurationS: number): Generator<PcmBlock, void> {
  const info = readStreamInfo(bytes);
  if (info.totalSamples / info.sampleRate > maxDurationS) throw tooLong(maxDurationS);
  const decoder = new FrameDecoder(bytes, info);
  let at = info.framesAt;
  while (at < bytes.length) {
    const end = decoder.decode(at);
    if (end) {
      yield { sampleRate: info.sampleRate, channels: decoder.channels };
      at = end;
    } else {
      at = nextSync(bytes, at + 1);
    }
  }
}

/** Where two bytes look like the start of a frame; the end of the bytes when there is none. */
function nextSync(bytes: Uint8Array, from: number): number {
  for (let at = bytes.indexOf(0xff, from); at >= 0; at = bytes.indexOf(0xff, at + 1)) {
    if ((bytes[at + 1] & 0xfe) === 0xf8) return at;
  }
  return bytes.length;
}

function readStreamInfo(bytes: Uint8Array): StreamInfo {
  const bits = new BitReader(bytes, afterId3(bytes) + 4);
  let info: Omit<StreamInfo, 'framesAt'> | undefined;
  for (let isLast = false; !isLast; ) {
    isLast = bits.read(1) === 1;
    const type = bits.read(7);
    const length = bits.read(24);
    const end = bits.position + length * 8;
    if (type === 0 && !info) {
      bits.skip(80);
      const sampleRate = bits.read(20);
      const channelCount = bits.read(3) + 1;
      checkShape(sampleRate, channelCount);
      info = {
        sampleRate,
        channelCount,
        bitsPerSample: bits.read(5) + 1,
        totalSamples: bits.readLong(36),
      };
    }
    bits.position = end;
    if (bits.overrun) throw new LehrError('invalid-audio', 'The FLAC file ends before its first sound.');
  }
  if (!info) throw new LehrError('invalid-audio', 'The FLAC file does not say its format (no STREAMINFO).');
  return { ...info, framesAt: bits.bytePosition };
}

/** One frame after the other into the same arrays. */
class FrameDecoder {
  readonly #bytes: Uint8Array;
  readonly #info: StreamInfo;
  /** Whole numbers; doubles, because a side channel of 32-bit sound has 33 bits. */
  #samples: Float64Array[] = [];
  channels: Float32Array[] = [];

  constructor(bytes: Uint8Array, info: StreamInfo) {
    this.#bytes = bytes;
    this.#info = info;
  }

  /** Where the frame at `at` ends, with its sound in `channels`; undefined when there is no good frame. */
  decode(at: number): number | undefined {
    const bits = new BitReader(this.#bytes, at);
    const header = readFrameHeader(bits);
    if (!header || crc8(this.#bytes, at, bits.bytePosition) !== bits.read(8)) return undefined;
    const bitsPerSample = header.bitsPerSample || this.#info.bitsPerSample;
    if (header.channelCount !== this.#info.channelCount || bitsPerSample > 32) return undefined;
    const samples = this.#room(header);
    for (const [c, out] of samples.entries()) {
      const isSide = header.side === c;
      if (!readSubframe(bits, out, bitsPerSample + (isSide ? 1 : 0))) return undefined;
    }
    bits.alignToByte();
    const end = bits.bytePosition;
    if (crc16(this.#bytes, at, end) !== bits.read(16) || bits.overrun) return undefined;
    joinStereo(header, samples);
    this.#scale(samples, bitsPerSample);
    return end + 2;
  }

  #room({ channelCount, blockSize }: FlacFrameHeader): Float64Array[] {
    if (this.#samples.length !== channelCount || this.#samples[0].length < blockSize) {
      this.#samples = Array.from({ length: channelCount }, () => new Float64Array(blockSize));
    }
    return this.#samples.map((array) => array.subarray(0, blockSize));
  }

  #scale(samples: readonly Float64Array[], bitsPerSample: number): void {
    const scale = 2 ** (1 - bitsPerSample);
    this.channels = samples.map((channel) => {
      const out = new Float32Array(channel.length);
      for (let i = 0; i < out.length; i++) out[i] = channel[i] * scale;
      return out;
    });
  }
}

/** Turns a side channel back into the one it was taken from. RFC 9639, 4.2. */
function joinStereo({ stereo, blockSize }: FlacFrameHeader, [first, second]: readonly Float64Array[]): void {
  switch (stereo) {
    case 'independent':
      return;
    case 'left-side':
      for (let i = 0; i < blockSize; i++) second[i] = first[i] - second[i];
      return;
    case 'side-right':
      for (let i = 0; i < blockSize; i++) first[i] += second[i];
      return;
    case 'mid-side':
      for (let i = 0; i < blockSize; i++) {
        const side = second[i];
        // Halving the sum lost its lowest bit, which is the side's.
        const sum = 2 * first[i] + (Math.abs(side) % 2);
        first[i] = (sum + side) / 2;
        second[i] = (sum - side) / 2;
      }
      return;
  }
}

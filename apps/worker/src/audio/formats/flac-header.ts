import type { BitReader } from './bits.ts';

export interface FlacFrameHeader {
  readonly blockSize: number;
  readonly channelCount: number;
  readonly stereo: 'independent' | 'left-side' | 'side-right' | 'mid-side';
  /** The channel that holds a difference, with one bit more than the others; -1: none. */
  readonly side: number;
  /** 0: as in the stream's head. */
  readonly bitsPerSample: number;
}

const STEREO = {
  8: { stereo: 'left-side', side: 1 },
  9: { stereo: 'side-right', side: 0 },
  10: { stereo: 'mid-side', side: 1 },
} as const;
/** By code; 3 is reserved. */
const SAMPLE_BITS = [0, 8, 12, undefined, 16, 20, 24, 32];

/** Up to, not including, its checksum; undefined when there is no header at the position. RFC 9639, 9.1. */
export function readFrameHeader(bits: BitReader): FlacFrameHeader | undefined {
  if (bits.read(15) !== 0x7ffc) return undefined;
  bits.read(1);
  const blockSizeCode = bits.read(4);
  const rateCode = bits.read(4);
  const channelCode = bits.read(4);
  const bitsPerSample = SAMPLE_BITS[bits.read(3)];
  if (bits.read(1) === 1 || bitsPerSample === undefined || channelCode > 10 || rateCode === 15)
    return undefined;
  skipCodedNumber(bits);
  const blockSize = readBlockSize(bits, blockSizeCode);
  // The rate is the stream's; a frame that says another is not told apart from a broken one.
  if (rateCode >= 12) bits.read(rateCode === 12 ? 8 : 16);
  if (blockSize === 0) return undefined;
  const isJoint = channelCode === 8 || channelCode === 9 || channelCode === 10;
  const joint = isJoint ? STEREO[channelCode] : ({ stereo: 'independent', side: -1 } as const);
  return { blockSize, channelCount: isJoint ? 2 : channelCode + 1, bitsPerSample, ...joint };
}

/** The frame's or sample's number, coded like UTF-8 but up to 36 bits: the leading ones of its first byte count its bytes. */
function skipCodedNumber(bits: BitReader): void {
  const ones = Math.clz32(~(bits.read(8) << 24));
  for (let i = 1; i < ones; i++) bits.read(8);
}

function readBlockSize(bits: BitReader, code: number): number {
  if (code === 0) return 0;
  if (code === 1) return 192;
  if (code <= 5) return 576 << (code - 2);
  if (code === 6) return bits.read(8) + 1;
  if (code === 7) return bits.read(16) + 1;
  return 256 << (code - 8);
}

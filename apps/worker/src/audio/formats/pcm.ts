/** Uncompressed samples: the bytes of wav, aiff and QuickTime to floats of -1 to 1. */
import { checkShape, type PcmBlock } from '../pcm-block.ts';

export type PcmEncoding =
  | 'u8'
  | 's8'
  | `s${16 | 24 | 32}${'le' | 'be'}`
  | `f${32 | 64}${'le' | 'be'}`
  | 'alaw'
  | 'mulaw';

export interface PcmLayout {
  readonly encoding: PcmEncoding;
  readonly sampleRate: number;
  readonly channelCount: number;
}

type ReadSample = (view: DataView, at: number) => number;

const ENCODINGS: Readonly<Record<PcmEncoding, { bytes: number; read: ReadSample }>> = {
  // WAV's 8 bits are unsigned around 128, AIFF's are signed.
  u8: { bytes: 1, read: (view, at) => (view.getUint8(at) - 128) / 128 },
  s8: { bytes: 1, read: (view, at) => view.getInt8(at) / 128 },
  s16le: { bytes: 2, read: (view, at) => view.getInt16(at, true) / 0x8000 },
  s16be: { bytes: 2, read: (view, at) => view.getInt16(at) / 0x8000 },
  s24le: {
    bytes: 3,
    read: (view, at) => (view.getUint16(at, true) + view.getInt8(at + 2) * 65536) / 0x800000,
  },
  s24be: { bytes: 3, read: (view, at) => (view.getInt16(at) * 256 + view.getUint8(at + 2)) / 0x800000 },
  s32le: { bytes: 4, read: (view, at) => view.getInt32(at, true) / 0x80000000 },
  s32be: { bytes: 4, read: (view, at) => view.getInt32(at) / 0x80000000 },
  f32le: { bytes: 4, read: (view, at) => view.getFloat32(at, true) },
  f32be: { bytes: 4, read: (view, at) => view.getFloat32(at) },
  f64le: { bytes: 8, read: (view, at) => view.getFloat64(at, true) },
  f64be: { bytes: 8, read: (view, at) => view.getFloat64(at) },
  alaw: { bytes: 1, read: (view, at) => fromALaw(view.getUint8(at)) },
  mulaw: { bytes: 1, read: (view, at) => fromMuLaw(view.getUint8(at)) },
};

const BLOCK_FRAMES = 8192;

/** Reads interleaved samples, as many whole frames as there are: half a sample at the end is left out. */
export function* readPcm(data: Uint8Array, layout: PcmLayout): Generator<PcmBlock, void> {
  const { encoding, sampleRate, channelCount } = layout;
  checkShape(sampleRate, channelCount);
  const { bytes, read } = ENCODINGS[encoding];
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const frameBytes = bytes * channelCount;
  const frames = Math.floor(data.byteLength / frameBytes);
  const arrays = Array.from({ length: channelCount }, () => new Float32Array(Math.min(frames, BLOCK_FRAMES)));
  for (let start = 0; start < frames; start += BLOCK_FRAMES) {
    const count = Math.min(BLOCK_FRAMES, frames - start);
    const channels = arrays.map((array) => array.subarray(0, count));
    for (const [c, samples] of channels.entries()) {
      let at = start * frameBytes + c * bytes;
      for (let i = 0; i < count; i++, at += frameBytes) samples[i] = read(view, at);
    }
    yield { sampleRate, channels };
  }
}

/** ITU-T G.711: sign, three bits of exponent, four of mantissa, even bits inverted. */
function fromALaw(byte: number): number {
  const code = byte ^ 0x55;
  const exponent = (code >> 4) & 7;
  const mantissa = ((code & 15) << 4) + 8;
  const magnitude = exponent === 0 ? mantissa : (mantissa + 0x100) << (exponent - 1);
  return (code & 0x80 ? magnitude : -magnitude) / 0x8000;
}

/** ITU-T G.711: as A-law, all bits inverted and biased by 33 (here in 16 bits: 132). */
function fromMuLaw(byte: number): number {
  const code = ~byte;
  const magnitude = ((((code & 15) << 3) + 132) << ((code >> 4) & 7)) - 132;
  return (code & 0x80 ? -magnitude : magnitude) / 0x8000;
}

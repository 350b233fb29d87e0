/** Audio files made byte by byte, for what no encoder would write. */
import { crc8, crc16 } from '../../apps/worker/src/audio/formats/flac-crc.ts';

const RATE = 16_000;
const BLOCK = 65_535;

/** 16 kHz mono FLAC of constant frames: 15 bytes for 4 s. */
export function silentFlac(length: {
  readonly seconds: number;
  readonly declaredSeconds: number;
}): Uint8Array {
  const samples = length.seconds * RATE;
  const frames = Math.ceil(samples / BLOCK);
  const parts = [streamInfo(length.declaredSeconds * RATE)];
  for (let i = 0; i < frames; i++) parts.push(silentFrame(i, Math.min(BLOCK, samples - i * BLOCK)));
  return new Uint8Array(Buffer.concat(parts));
}

/** RFC 9639, 8.1 and 8.2. */
function streamInfo(totalSamples: number): Buffer {
  const info = Buffer.alloc(42);
  info.write('fLaC');
  info[4] = 0x80;
  info[7] = 34;
  info.writeUInt16BE(BLOCK, 8);
  info.writeUInt16BE(BLOCK, 10);
  // 20 bits of rate, 3 of channels less one, 5 of bits less one, 36 of length.
  info.writeUInt32BE(RATE * 2 ** 12 + (15 << 4) + Math.floor(totalSamples / 2 ** 32), 18);
  info.writeUInt32BE(totalSamples % 2 ** 32, 22);
  return info;
}

/** RFC 9639, 9: 16 bits of block size, rate and bits as in the stream's head, one constant subframe of zero. */
function silentFrame(index: number, samples: number): Buffer {
  const head = Buffer.from([
    0xff,
    0xf8,
    0x70,
    0x00,
    ...codedNumber(index),
    (samples - 1) >> 8,
    (samples - 1) & 255,
  ]);
  const body = Buffer.concat([head, Buffer.of(crc8(head, 0, head.length)), Buffer.of(0, 0, 0)]);
  const checksum = crc16(body, 0, body.length);
  return Buffer.concat([body, Buffer.of(checksum >> 8, checksum & 255)]);
}

/** As UTF-8 does, up to 16 bits. */
function codedNumber(value: number): number[] {
  if (value < 0x80) return [value];
  if (value < 0x800) return [0xc0 | (value >> 6), 0x80 | (value & 63)];
  return [0xe0 | (value >> 12), 0x80 | ((value >> 6) & 63), 0x80 | (value & 63)];
}

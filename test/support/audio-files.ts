/** Audio files made byte by byte, with content that no encoder would write. */
const RATE = 16_000;
const BLOCK = 65_535;

/** What the fmt chunk of a WAV file says. */
export interface WavFormat {
  readonly tag: number;
  readonly channels: number;
  readonly rate: number;
  readonly bits: number;
}

export const PCM16: WavFormat = { tag: 1, channels: 1, rate: RATE, bits: 16 };

/** `size` may differ from the body's, as in a broken file. */
export function wavChunk(id: string, body: Uint8Array, size = body.length): Buffer {
  const head = Buffer.alloc(8);
  head.write(id);
  head.writeUInt32LE(size, 4);
  return Buffer.concat([head, body, Buffer.alloc(body.length % 2)]);
}

/** `more` follows the 16 bytes that every format has. */
export function wavFormat({ tag, channels, rate, bits }: WavFormat, more: readonly number[] = []): Buffer {
  const frameBytes = ((channels * bits) / 8) % 65_536;
  const body = Buffer.alloc(16);
  body.writeUInt16LE(tag, 0);
  body.writeUInt16LE(channels, 2);
  body.writeUInt32LE(rate, 4);
  body.writeUInt32LE((rate * frameBytes) % 2 ** 32, 8);
  body.writeUInt16LE(frameBytes, 12);
  body.writeUInt16LE(bits, 14);
  return wavChunk('fmt ', Buffer.concat([body, Buffer.from(more)]));
}

export const wavOf = (...chunks: readonly Buffer[]): Uint8Array =>
  new Uint8Array(Buffer.concat([Buffer.from('RIFF\0\0\0\0WAVE'), ...chunks]));

/** FLAC of constant frames, which `declaredSeconds` may contradict: 15 bytes for 4 s of 16 kHz mono. */
export function silentFlac(file: {
  readonly seconds: number;
  readonly declaredSeconds: number;
  readonly rate?: number;
  readonly channels?: number;
}): Uint8Array {
  const { rate = RATE, channels = 1 } = file;
  const samples = file.seconds * rate;
  const frames = Math.ceil(samples / BLOCK);
  const parts = [streamInfo(file.declaredSeconds * rate, rate, channels)];
  for (let i = 0; i < frames; i++) parts.push(silentFrame(i, Math.min(BLOCK, samples - i * BLOCK), channels));
  return new Uint8Array(Buffer.concat(parts));
}

/** RFC 9639, 8.1 and 8.2. */
function streamInfo(totalSamples: number, rate: number, channels: number): Buffer {
  const info = Buffer.alloc(42);
  info.write('fLaC');
  info[4] = 0x80;
  info[7] = 34;
  info.writeUInt16BE(BLOCK, 8);
  info.writeUInt16BE(BLOCK, 10);
  // 20 bits of rate, 3 of channels less one, 5 of bits less one, 36 of length.
  const head = rate * 2 ** 12 + ((channels - 1) << 9) + (15 << 4);
  info.writeUInt32BE(head + Math.floor(totalSamples / 2 ** 32), 18);
  info.writeUInt32BE(totalSamples % 2 ** 32, 22);
  return info;
}

/** RFC 9639, 9: 16 bits of block size, rate and bits as in the stream's head, one constant subframe of zero for each channel. */
function silentFrame(index: number, samples: number, channels: number): Buffer {
  const head = Buffer.from([
    0xff,
    0xf8,
    0x70,
    (channels - 1) << 4,
    ...codedNumber(index),
    (samples - 1) >> 8,
    (samples - 1) & 255,
  ]);
  const body = Buffer.concat([head, Buffer.of(crc(head, 0x07, 8)), Buffer.alloc(3 * channels)]);
  const checksum = crc(body, 0x8005, 16);
  return Buffer.concat([body, Buffer.of(checksum >> 8, checksum & 255)]);
}

/** As UTF-8 does, up to 16 bits. */
function codedNumber(value: number): number[] {
  if (value < 0x80) return [value];
  if (value < 0x800) return [0xc0 | (value >> 6), 0x80 | (value & 63)];
  return [0xe0 | (value >> 12), 0x80 | ((value >> 6) & 63), 0x80 | (value & 63)];
}

/** The checksums of a frame: of its header with x^8+x^2+x+1, of all of it with x^16+x^15+x^2+1, from 0. RFC 9639, 9.1.8 and 9.3. */
function crc(bytes: Buffer, polynomial: number, bits: 8 | 16): number {
  let sum = 0;
  for (const byte of bytes) {
    sum ^= byte << (bits - 8);
    for (let i = 0; i < 8; i++) sum = sum & (1 << (bits - 1)) ? (sum << 1) ^ polynomial : sum << 1;
    sum &= 2 ** bits - 1;
  }
  return sum;
}

/** Writes text into a PNG as an iTXt chunk (PNG specification 1.2, 4.2.3.3): UTF-8, uncompressed, right after the header. */
import { crc32 } from 'node:zlib';

const SIGNATURE_LENGTH = 8;
/** Length, type and CRC around a chunk's data. */
const CHUNK_OVERHEAD = 12;

export function withPngText(png: Uint8Array, keyword: string, text: string): Uint8Array {
  const source = Buffer.from(png.buffer, png.byteOffset, png.byteLength);
  const headerEnd = SIGNATURE_LENGTH + CHUNK_OVERHEAD + source.readUInt32BE(SIGNATURE_LENGTH);
  const data = Buffer.concat([
    Buffer.from('iTXt', 'latin1'),
    Buffer.from(keyword, 'latin1'),
    // Separator, not compressed, compression method 0, no language, no translated keyword.
    Buffer.from([0, 0, 0, 0, 0]),
    Buffer.from(text, 'utf8'),
  ]);
  const chunk = Buffer.alloc(data.length + 8);
  chunk.writeUInt32BE(data.length - 4, 0);
  data.copy(chunk, 4);
  chunk.writeUInt32BE(crc32(data), data.length + 4);
  return Buffer.concat([source.subarray(0, headerEnd), chunk, source.subarray(headerEnd)]);
}

/** The text of a keyword's uncompressed iTXt chunk; undefined when there is none. */
export function readPngText(png: Uint8Array, keyword: string): string | undefined {
  const source = Buffer.from(png.buffer, png.byteOffset, png.byteLength);
  for (let at = SIGNATURE_LENGTH; at + CHUNK_OVERHEAD <= source.length; ) {
    const length = source.readUInt32BE(at);
    const data = source.subarray(at + 8, at + 8 + length);
    const end = data.indexOf(0);
    if (source.toString('latin1', at + 4, at + 8) === 'iTXt' && data.toString('latin1', 0, end) === keyword) {
      return data.toString('utf8', end + 5);
    }
    at += CHUNK_OVERHEAD + length;
  }
  return undefined;
}

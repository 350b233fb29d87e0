/** The texts of a PNG file: pairs of a keyword and a text, in its chunks tEXt, zTXt and iTXt (PNG specification 1.2, 4.2.3). */
import { crc32, inflateSync } from 'node:zlib';

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
/** Length, type and CRC around a chunk's data. */
const CHUNK_OVERHEAD = 12;
/** Of all texts of a file, unpacked: small chunks can pack gigabytes. */
const MAX_TEXT_BYTES = 1024 * 1024;
/** Chunks of texts that are read, also those that turn out to be damaged: each may cost the time to unpack so many bytes. */
const MAX_TEXTS = 32;
/** ISO 8859-1 without the control characters, which tEXt must not hold except for the line feed. */
const LATIN1 = /^[\n\x20-\x7e\xa0-\xff]*$/;

/** With one more text, right after the header: tEXt where its characters allow that, because every reader knows it, and else iTXt. */
export function withPngText(png: Uint8Array, keyword: string, text: string): Buffer {
  const source = bufferOf(png);
  const headerEnd = SIGNATURE.length + CHUNK_OVERHEAD + source.readUInt32BE(SIGNATURE.length);
  const data = LATIN1.test(text)
    ? Buffer.from(`tEXt${keyword}\0${text}`, 'latin1')
    : // Separator, not compressed, compression method 0, no language, no translated keyword.
      Buffer.concat([Buffer.from(`iTXt${keyword}\0\0\0\0\0`, 'latin1'), Buffer.from(text, 'utf8')]);
  const chunk = Buffer.alloc(data.length + 8);
  chunk.writeUInt32BE(data.length - 4, 0);
  data.copy(chunk, 4);
  chunk.writeUInt32BE(crc32(data), data.length + 4);
  return Buffer.concat([source.subarray(0, headerEnd), chunk, source.subarray(headerEnd)]);
}

/**
 * By keyword; empty for a file that is no PNG. A text that cannot be read is left out, and so is what follows once MAX_TEXTS chunks or
 * MAX_TEXT_BYTES are read.
 */
export function pngTexts(png: Uint8Array): Map<string, string> {
  const source = bufferOf(png);
  const texts = new Map<string, string>();
  if (!source.subarray(0, SIGNATURE.length).equals(SIGNATURE)) return texts;
  let left = MAX_TEXT_BYTES;
  let tries = 0;
  for (let at = SIGNATURE.length; at + CHUNK_OVERHEAD <= source.length && tries < MAX_TEXTS; ) {
    const length = source.readUInt32BE(at);
    const type = source.toString('latin1', at + 4, at + 8);
    const data = source.subarray(at + 8, at + 8 + length);
    at += CHUNK_OVERHEAD + length;
    const end = TEXT_TYPES.has(type) ? data.indexOf(0) : -1;
    if (end <= 0) continue;
    tries += 1;
    const text = textOf(type, data.subarray(end + 1), left);
    if (text === undefined || Buffer.byteLength(text) > left) continue;
    left -= Buffer.byteLength(text);
    texts.set(data.toString('latin1', 0, end), text);
  }
  return texts;
}

const TEXT_TYPES: ReadonlySet<string> = new Set(['tEXt', 'zTXt', 'iTXt']);

/** `rest`: what follows the keyword and its separator. At most `most` bytes are unpacked. */
function textOf(type: string, rest: Buffer, most: number): string | undefined {
  switch (type) {
    case 'tEXt':
      return rest.toString('latin1');
    case 'zTXt':
      return inflated(rest.subarray(1), most)?.toString('latin1');
    case 'iTXt': {
      const language = rest.indexOf(0, 2);
      const translated = language < 0 ? -1 : rest.indexOf(0, language + 1);
      if (translated < 0) return undefined;
      const text = rest.subarray(translated + 1);
      return (rest[0] === 1 ? inflated(text, most) : text)?.toString('utf8');
    }
    default:
      return undefined;
  }
}

function inflated(packed: Buffer, most: number): Buffer | undefined {
  if (most === 0) return undefined;
  try {
    return inflateSync(packed, { maxOutputLength: most });
  } catch {
    return undefined;
  }
}

const bufferOf = ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength);

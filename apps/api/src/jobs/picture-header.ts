/** What can be seen of a PNG, JPEG or WebP file without decoding it, which only workers do: its size as it is shown, and whether it has alpha. */

export interface PictureSize {
  readonly width: number;
  readonly height: number;
}

/** Enough for the header of a file whose EXIF data holds a preview picture. */
export const HEADER_BYTES = 256 * 1024;

/**
 * From the first HEADER_BYTES of a file, turned as its EXIF orientation says. Undefined for any other file, for one that is damaged, which the
 * worker refuses, and for a WebP with EXIF data, which are behind its pixels.
 */
export function pictureSize(file: Uint8Array): PictureSize | undefined {
  const bytes = Buffer.from(file.buffer, file.byteOffset, file.byteLength);
  try {
    const { width, height } = pngSize(bytes) ?? jpegSize(bytes) ?? webpSize(bytes) ?? { width: 0, height: 0 };
    return width > 0 && height > 0 ? { width, height } : undefined;
  } catch (error) {
    // The file ends before what it announces.
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

const PNG = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');

function pngSize(bytes: Buffer): PictureSize | undefined {
  if (!bytes.subarray(0, PNG.length).equals(PNG)) return undefined;
  const [width, height] = [bytes.readUInt32BE(16), bytes.readUInt32BE(20)];
  for (const { type, data } of pngHead(bytes)) {
    if (type === 'eXIf' && isTurned(data)) return { width: height, height: width };
  }
  return { width, height };
}

/** Of a chunk: its length, its type, and after its data a checksum. */
const CHUNK_BYTES = 12;

/** The chunks before the pixels of a PNG. */
function* pngHead(bytes: Buffer): Generator<{ readonly type: string; readonly data: Buffer }> {
  for (let at = PNG.length; at + CHUNK_BYTES <= bytes.length; at += CHUNK_BYTES + bytes.readUInt32BE(at)) {
    const type = bytes.toString('latin1', at + 4, at + 8);
    if (type === 'IDAT') return;
    yield { type, data: bytes.subarray(at + 8, at + 8 + bytes.readUInt32BE(at)) };
  }
}

/** In the header chunk, which is the first. */
const COLOUR_TYPE_AT = 25;
const GREY_WITH_ALPHA = 4;
const COLOUR_WITH_ALPHA = 6;

/** Whether a file is a PNG that can have transparent pixels: by its colour type, or by a table of transparent colours before its pixels. */
export function hasAlpha(file: Uint8Array): boolean {
  const bytes = Buffer.from(file.buffer, file.byteOffset, file.byteLength);
  if (!bytes.subarray(0, PNG.length).equals(PNG) || bytes.length <= COLOUR_TYPE_AT) return false;
  if ([GREY_WITH_ALPHA, COLOUR_WITH_ALPHA].includes(bytes[COLOUR_TYPE_AT])) return true;
  return [...pngHead(bytes)].some(({ type }) => type === 'tRNS');
}

const JPEG_START = 0xffd8;
const JPEG_APP1 = 0xffe1;
/** The frame headers, without the tables (DHT, JPG, DAC) that share their range. */
const isFrame = (marker: number): boolean =>
  marker >= 0xffc0 && marker <= 0xffcf && ![0xffc4, 0xffc8, 0xffcc].includes(marker);

function jpegSize(bytes: Buffer): PictureSize | undefined {
  if (bytes.length < 2 || bytes.readUInt16BE(0) !== JPEG_START) return undefined;
  let swaps = false;
  for (let at = 2; ; at += 2 + bytes.readUInt16BE(at + 2)) {
    const marker = bytes.readUInt16BE(at);
    if (marker === JPEG_APP1) swaps ||= isTurnedByApp1(bytes.subarray(at + 4));
    if (!isFrame(marker)) continue;
    const [height, width] = [bytes.readUInt16BE(at + 5), bytes.readUInt16BE(at + 7)];
    return swaps ? { width: height, height: width } : { width, height };
  }
}

const EXIF = Buffer.from('Exif\0\0', 'latin1');
const ORIENTATION = 0x0112;
const ENTRY_BYTES = 12;

const isTurnedByApp1 = (segment: Buffer): boolean =>
  segment.subarray(0, EXIF.length).equals(EXIF) && isTurned(segment.subarray(EXIF.length));

/** Whether the orientation is one of the four that swap width and height. `tiff`: EXIF data, from their byte order on. */
function isTurned(tiff: Buffer): boolean {
  const isLittle = tiff.toString('latin1', 0, 2) === 'II';
  const uint16 = (at: number): number => (isLittle ? tiff.readUInt16LE(at) : tiff.readUInt16BE(at));
  const first = isLittle ? tiff.readUInt32LE(4) : tiff.readUInt32BE(4);
  for (let i = 0; i < uint16(first); i++) {
    const entry = first + 2 + i * ENTRY_BYTES;
    if (uint16(entry) === ORIENTATION) return uint16(entry + 8) >= 5;
  }
  return false;
}

const WEBP_EXIF = 0x08;

function webpSize(bytes: Buffer): PictureSize | undefined {
  if (bytes.toString('latin1', 0, 4) !== 'RIFF' || bytes.toString('latin1', 8, 12) !== 'WEBP')
    return undefined;
  switch (bytes.toString('latin1', 12, 16)) {
    case 'VP8X':
      if (bytes.readUInt8(20) & WEBP_EXIF) return undefined;
      return { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 };
    case 'VP8L': {
      const bits = bytes.readUInt32LE(21);
      return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
    }
    default:
      return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff };
  }
}

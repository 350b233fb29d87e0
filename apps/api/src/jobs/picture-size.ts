/** The width and height in the header of a PNG, JPEG or WebP file, as it is shown: turned as its EXIF orientation says. */

export interface PictureSize {
  readonly width: number;
  readonly height: number;
}

/** Enough for the header of a file whose EXIF data holds a preview picture. */
export const HEADER_BYTES = 256 * 1024;

/** From the first HEADER_BYTES of a file. Undefined for any other file, and for one that is damaged: the worker refuses it. */
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

const pngSize = (bytes: Buffer): PictureSize | undefined =>
  bytes.subarray(0, PNG.length).equals(PNG)
    ? { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) }
    : undefined;

const JPEG_START = 0xffd8;
const JPEG_APP1 = 0xffe1;
/** The frame headers, without the tables (DHT, JPG, DAC) that share their range. */
const isFrame = (marker: number): boolean =>
  marker >= 0xffc0 && marker <= 0xffcf && ![0xffc4, 0xffc8, 0xffcc].includes(marker);

function jpegSize(bytes: Buffer): PictureSize | undefined {
  if (bytes.length < 2 || bytes.readUInt16BE(0) !== JPEG_START) return undefined;
  let isTurned = false;
  for (let at = 2; ; at += 2 + bytes.readUInt16BE(at + 2)) {
    const marker = bytes.readUInt16BE(at);
    if (marker === JPEG_APP1) isTurned ||= isTurnedByExif(bytes.subarray(at + 4));
    if (!isFrame(marker)) continue;
    const [height, width] = [bytes.readUInt16BE(at + 5), bytes.readUInt16BE(at + 7)];
    return isTurned ? { width: height, height: width } : { width, height };
  }
}

const EXIF = Buffer.from('Exif\0\0', 'latin1');
const ORIENTATION = 0x0112;
const ENTRY_BYTES = 12;

/** Whether the orientation is one of the four that swap width and height. */
function isTurnedByExif(segment: Buffer): boolean {
  if (!segment.subarray(0, EXIF.length).equals(EXIF)) return false;
  const tiff = segment.subarray(EXIF.length);
  const isLittle = tiff.toString('latin1', 0, 2) === 'II';
  const uint16 = (at: number): number => (isLittle ? tiff.readUInt16LE(at) : tiff.readUInt16BE(at));
  const first = isLittle ? tiff.readUInt32LE(4) : tiff.readUInt32BE(4);
  for (let i = 0; i < uint16(first); i++) {
    const entry = first + 2 + i * ENTRY_BYTES;
    if (uint16(entry) === ORIENTATION) return uint16(entry + 8) >= 5;
  }
  return false;
}

function webpSize(bytes: Buffer): PictureSize | undefined {
  if (bytes.toString('latin1', 0, 4) !== 'RIFF' || bytes.toString('latin1', 8, 12) !== 'WEBP')
    return undefined;
  switch (bytes.toString('latin1', 12, 16)) {
    case 'VP8X':
      return { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 };
    case 'VP8L': {
      const bits = bytes.readUInt32LE(21);
      return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
    }
    default:
      return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff };
  }
}

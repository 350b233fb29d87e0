/** What can be seen of a mask without decoding it, which only workers do. */
const PNG = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');
/** Of a chunk: its length, its type, and after its data a checksum. */
const CHUNK_BYTES = 12;
/** In the header chunk, which is the first. */
const COLOUR_TYPE_AT = 25;
const GREY_WITH_ALPHA = 4;
const COLOUR_WITH_ALPHA = 6;

/** Whether a file is a PNG that can have transparent pixels: by its colour type, or by a table of transparent colours before its pixels. */
export function hasAlpha(file: Uint8Array): boolean {
  const bytes = Buffer.from(file.buffer, file.byteOffset, file.byteLength);
  if (!bytes.subarray(0, PNG.length).equals(PNG) || bytes.length <= COLOUR_TYPE_AT) return false;
  if ([GREY_WITH_ALPHA, COLOUR_WITH_ALPHA].includes(bytes[COLOUR_TYPE_AT])) return true;
  for (let at = PNG.length; at + CHUNK_BYTES <= bytes.length; at += CHUNK_BYTES + bytes.readUInt32BE(at)) {
    const type = bytes.toString('latin1', at + 4, at + 8);
    if (type === 'tRNS') return true;
    if (type === 'IDAT') return false;
  }
  return false;
}

/**
 * The alphabet of byte-level BPE (GPT-2): a character for each byte. Printable bytes of Latin-1 stand for themselves, and the others, in
 * order, for the characters from U+0100 on.
 */
const isPrintable = (byte: number): boolean =>
  (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || (byte >= 0xae && byte <= 0xff);

const BYTES: ReadonlyMap<string, number> = new Map(
  Array.from({ length: 256 }, (_, byte) => byte)
    .sort((a, b) => Number(!isPrintable(a)) - Number(!isPrintable(b)) || a - b)
    .map((byte, i, all) => {
      const printable = all.filter(isPrintable).length;
      return [String.fromCodePoint(isPrintable(byte) ? byte : 0x100 + i - printable), byte];
    }),
);

/** A character outside the alphabet counts as a blank. */
export const byteOfCharacter = (character: string): number => BYTES.get(character) ?? 0x20;

/** The checksums of FLAC frames: polynomials x^8+x^2+x+1 and x^16+x^15+x^2+1, start 0. RFC 9639, 9.1.8 and 9.3. */

const tableOf = (polynomial: number, bits: 8 | 16): Uint16Array =>
  Uint16Array.from({ length: 256 }, (_, byte) => {
    let crc = byte << (bits - 8);
    for (let i = 0; i < 8; i++) crc = crc & (1 << (bits - 1)) ? (crc << 1) ^ polynomial : crc << 1;
    return crc & (2 ** bits - 1);
  });

const TABLE8 = tableOf(0x07, 8);
const TABLE16 = tableOf(0x8005, 16);

export function crc8(bytes: Uint8Array, start: number, end: number): number {
  let crc = 0;
  for (let i = start; i < end; i++) crc = TABLE8[crc ^ bytes[i]];
  return crc;
}

export function crc16(bytes: Uint8Array, start: number, end: number): number {
  let crc = 0;
  for (let i = start; i < end; i++) crc = ((crc << 8) & 0xffff) ^ TABLE16[(crc >> 8) ^ bytes[i]];
  return crc;
}

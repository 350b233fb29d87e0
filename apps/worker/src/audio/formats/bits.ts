/**
 * Bits of a byte stream, most significant first, as FLAC and AAC write them. Reading past the end gives zero bits; who
 * must know asks `overrun`, once per frame, which keeps the inner loops free of checks.
 */
export class BitReader {
  readonly #bytes: Uint8Array;
  readonly #end: number;
  /** In bits from the start of the bytes. */
  position: number;

  constructor(bytes: Uint8Array, byteOffset = 0) {
    this.#bytes = bytes;
    this.#end = bytes.length * 8;
    this.position = byteOffset * 8;
  }

  /** More bits were read than there are: what came last is made up. */
  get overrun(): boolean {
    return this.position > this.#end;
  }

  get bytePosition(): number {
    return Math.ceil(this.position / 8);
  }

  /** An unsigned number of 0 to 25 bits. */
  read(bits: number): number {
    const value = this.peek(bits);
    this.position += bits;
    return value;
  }

  peek(bits: number): number {
    if (bits === 0) return 0;
    return (this.#window() << (this.position & 7)) >>> (32 - bits);
  }

  /** An unsigned number of up to 53 bits. */
  readLong(bits: number): number {
    let value = 0;
    for (let left = bits; left > 0; left -= 24) {
      const taken = Math.min(left, 24);
      value = value * 2 ** taken + this.read(taken);
    }
    return value;
  }

  /** A two's complement number of up to 53 bits. */
  readSigned(bits: number): number {
    const value = this.readLong(bits);
    return value >= 2 ** (bits - 1) ? value - 2 ** bits : value;
  }

  /** How many zero bits stand before the next one; that one is read too. */
  readUnary(): number {
    let zeros = 0;
    while (this.position < this.#end) {
      const window = (this.#window() << (this.position & 7)) >>> 0;
      if (window >= 1 << 7) {
        const run = Math.clz32(window);
        this.position += run + 1;
        return zeros + run;
      }
      // Of the 32 bits at most 7 were shifted out: 25 are surely real, and all are zero.
      this.position += 25;
      zeros += 25;
    }
    this.position = this.#end + 1;
    return zeros;
  }

  /** A Rice code: a unary quotient, then `parameter` bits, of a number folded to 0, -1, 1, -2, 2, ... */
  readRice(parameter: number): number {
    const window = (this.#window() << (this.position & 7)) >>> 0;
    const zeros = Math.clz32(window);
    const length = zeros + 1 + parameter;
    if (length <= 25) {
      this.position += length;
      const folded = (zeros << parameter) | (((window << (zeros + 1)) >>> 1) >>> (31 - parameter));
      return (folded >>> 1) ^ -(folded & 1);
    }
    const folded = this.readUnary() * 2 ** parameter + this.readLong(parameter);
    return folded % 2 === 0 ? folded / 2 : -(folded + 1) / 2;
  }

  skip(bits: number): void {
    this.position += bits;
  }

  alignToByte(): void {
    this.position = this.bytePosition * 8;
  }

  /** The four bytes around the position, big-endian. */
  #window(): number {
    const bytes = this.#bytes;
    const at = this.position >>> 3;
    return (bytes[at] << 24) | (bytes[at + 1] << 16) | (bytes[at + 2] << 8) | bytes[at + 3];
  }
}

/** Walks the fields of a protobuf message without decoding their values. */
import type { ByteSource } from './byte-source.ts';

export interface WireField {
  readonly id: number;
  /** Offset of its tag. */
  readonly start: number;
  /** Offset of its value: after the tag and, for a length-delimited field, after the length. */
  readonly valueStart: number;
  readonly end: number;
}

const WINDOW_BYTES = 64 * 1024;
const [VARINT, FIXED64, DELIMITED, FIXED32] = [0, 1, 2, 5];

/** Reads varints through a window that moves forward over the source. */
class Cursor {
  readonly #source: ByteSource;
  #window: Uint8Array = new Uint8Array(0);
  #windowStart = 0;
  position: number;

  constructor(source: ByteSource, position: number) {
    this.#source = source;
    this.position = position;
  }

  varint(): number {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = this.#byte();
      value += (byte & 127) * scale;
      if (byte < 128) return value;
      if (scale >= 2 ** 63) throw new RangeError(`A varint of more than 10 bytes at byte ${this.position}.`);
    }
  }

  #byte(): number {
    const index = this.position - this.#windowStart;
    if (index < 0 || index >= this.#window.byteLength) {
      const length = Math.min(WINDOW_BYTES, this.#source.length - this.position);
      if (length <= 0) throw new RangeError(`The message ends inside a field, at byte ${this.position}.`);
      this.#window = new Uint8Array(length);
      this.#windowStart = this.position;
      this.#source.readInto(this.#window, this.position);
    }
    const byte = this.#window[this.position - this.#windowStart];
    this.position += 1;
    return byte;
  }
}

/** The fields of the message in bytes `start` to `end`, in order. Throws RangeError when they do not fit. */
export function* walkFields(source: ByteSource, start: number, end: number): Generator<WireField> {
  const cursor = new Cursor(source, start);
  while (cursor.position < end) {
    const fieldStart = cursor.position;
    const tag = cursor.varint();
    const [id, wireType] = [Math.floor(tag / 8), tag % 8];
    let valueStart = cursor.position;
    if (wireType === VARINT) cursor.varint();
    else if (wireType === FIXED64) cursor.position += 8;
    else if (wireType === FIXED32) cursor.position += 4;
    else if (wireType === DELIMITED) {
      const length = cursor.varint();
      valueStart = cursor.position;
      cursor.position += length;
    } else throw new RangeError(`Wire type ${wireType} at byte ${fieldStart}: not a protobuf message.`);
    if (cursor.position > end) throw new RangeError(`The field at byte ${fieldStart} ends past byte ${end}.`);
    yield { id, start: fieldStart, valueStart, end: cursor.position };
  }
}

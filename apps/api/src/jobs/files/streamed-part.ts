/** Takes the content of one file out of a multipart body while it arrives, so that it is never whole in memory. */

const LINE_END = '\r\n';
const HEADER_END = '\r\n\r\n';
/** A longer header is refused by the parser, which gets all of it. */
const MAX_HEADER_BYTES = 8 * 1024;
const IS_FILE = /;\s*filename\*?=/i;

export interface Split {
  /** The body without the content of the file. */
  readonly rest: Uint8Array;
  readonly content: Uint8Array;
}

export class StreamedPart {
  readonly #field: RegExp;
  /** Between parts, after the last one, and before what follows the content of a part. */
  readonly #separator: string;
  readonly #close: string;
  readonly #end: string;
  #isInside = false;
  /** What may be the beginning of a separator or of a header. The first separator of a body has no line end before it. */
  #held: Buffer = Buffer.from(LINE_END);
  #added = LINE_END.length;

  /** `field` is the name of the part. */
  constructor(boundary: string, field: string) {
    this.#field = new RegExp(`;\\s*name="?${field}"?(?:;|\\r\\n|$)`, 'i');
    this.#end = `${LINE_END}--${boundary}`;
    this.#separator = `${this.#end}${LINE_END}`;
    this.#close = `${this.#end}--`;
  }

  write(chunk: Uint8Array): Split {
    const rest: Buffer[] = [];
    const content: Buffer[] = [];
    let data: Buffer = Buffer.concat([this.#held, chunk]);
    for (let isDone = false; !isDone; ) {
      const taken = this.#isInside ? this.#content(data) : this.#outside(data);
      (taken.isContent ? content : rest).push(data.subarray(0, taken.bytes));
      data = data.subarray(taken.bytes);
      isDone = taken.isDone;
    }
    this.#held = data;
    const passed = Buffer.concat(rest);
    const from = Math.min(this.#added, passed.byteLength);
    this.#added -= from;
    return { rest: passed.subarray(from), content: Buffer.concat(content) };
  }

  /** How many bytes are content. */
  #content(data: Buffer): Taken {
    const end = data.indexOf(this.#end);
    this.#isInside = end === -1;
    const bytes = end === -1 ? Math.max(0, data.byteLength - this.#end.length + 1) : end;
    return { isContent: true, bytes, isDone: end === -1 };
  }

  /** How many bytes are no content of the file, up to where its content begins. */
  #outside(data: Buffer): Taken {
    const begin = data.indexOf(this.#separator);
    if (begin === -1) {
      const isClosed = data.includes(this.#close);
      const kept = isClosed ? 0 : this.#separator.length - 1;
      return { isContent: false, bytes: Math.max(0, data.byteLength - kept), isDone: true };
    }
    const end = data.indexOf(HEADER_END, begin + LINE_END.length);
    if (end === -1) {
      const isTooLong = data.byteLength - begin > MAX_HEADER_BYTES;
      return { isContent: false, bytes: isTooLong ? data.byteLength : begin, isDone: true };
    }
    const header = data.toString('utf8', begin, end);
    this.#isInside = this.#field.test(header) && IS_FILE.test(header);
    return { isContent: false, bytes: end + HEADER_END.length, isDone: false };
  }
}

interface Taken {
  readonly isContent: boolean;
  readonly bytes: number;
  /** The rest needs more of the body. */
  readonly isDone: boolean;
}

/**
 * A request of the fuzzer: the bytes of one connection, as a short value. The value is JSON, so that a finding can be printed and
 * kept in the corpus; ids and keys, which differ from run to run, are names in it such as `__job__`.
 */

/** Text (as UTF-8) or bytes, and how often they are repeated. */
export type Piece =
  | { readonly text: string; readonly times?: number }
  | { readonly base64: string; readonly times?: number };

export interface FuzzRequest {
  /** The part of the grammar that made it. */
  readonly kind: string;
  /** Request line and headers, without the empty line that ends them. */
  readonly head: string;
  readonly body: readonly Piece[];
  /** How the head states the length of the body: not at all for `none`. */
  readonly framing: 'length' | 'chunked' | 'none';
  /** Share of the bytes that is sent; less than 1 for a request that breaks off. */
  readonly sent?: number;
  /** In how many writes the bytes are sent; default 1. */
  readonly writes?: number;
  /**
   * What the sender does after the last byte: `wait` for the answer, which must come; `close` its side, after which the server must
   * end the connection; `reset` the connection; or leave it `open` until the round ends.
   */
  readonly end: 'wait' | 'close' | 'reset' | 'open';
}

/** The values of the names in requests: of things that exist while the fuzzer runs. */
export type Known = Readonly<Record<string, string>>;

const CHUNK_BYTES = 65_536;
const EMPTY_LINE = '\r\n\r\n';

export function bytesOf({ head, body, framing, sent = 1 }: FuzzRequest, known: Known): Buffer {
  const content = Buffer.concat(body.map((piece) => pieceBytes(piece, known)));
  const start = (lines: string): Buffer => Buffer.from(named(head, known) + lines + EMPTY_LINE, 'latin1');
  const all = {
    none: () => [start(''), content],
    length: () => [start(`\r\ncontent-length: ${content.length}`), content],
    chunked: () => [start('\r\ntransfer-encoding: chunked'), ...chunksOf(content)],
  }[framing]();
  const bytes = Buffer.concat(all);
  return sent < 1 ? bytes.subarray(0, Math.floor(bytes.length * sent)) : bytes;
}

function* chunksOf(content: Buffer): Generator<Buffer> {
  for (let at = 0; at < content.length; at += CHUNK_BYTES) {
    const chunk = content.subarray(at, at + CHUNK_BYTES);
    yield Buffer.from(`${chunk.length.toString(16)}\r\n`);
    yield chunk;
    yield Buffer.from('\r\n');
  }
  yield Buffer.from('0\r\n\r\n');
}

function pieceBytes(piece: Piece, known: Known): Buffer {
  const once = 'text' in piece ? Buffer.from(named(piece.text, known)) : Buffer.from(piece.base64, 'base64');
  const { times = 1 } = piece;
  return times === 1 ? once : Buffer.alloc(once.length * times, once);
}

/** The text with the values in place of the names. */
export const named = (text: string, known: Known): string =>
  text.replace(/__([a-z_]+?)__/g, (name, key: string) => (Object.hasOwn(known, key) ? known[key] : name));

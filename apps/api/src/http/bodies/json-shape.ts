/**
 * Bounds the shape of a JSON text before it is parsed. The cost of parsing, validating and hashing a body follows its nesting and
 * its number of values, not only its bytes: a megabyte of `[` or of tiny fields would stop every other request for seconds.
 */
import { LehrError } from '@lehr/shared';

export const MAX_DEPTH = 64;
/** Values of the whole text: elements of lists and fields of objects. */
export const MAX_VALUES = 10_000;

const QUOTE = 34;
const COMMA = 44;
const BACKSLASH = 92;

/** One pass without recursion. Throws `invalid-request`. A text that is not JSON may pass; the parser refuses it. */
export function checkJsonShape(text: string): void {
  let depth = 0;
  let values = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === QUOTE) {
      i = endOfString(text, i);
    } else if (code === COMMA) {
      values += 1;
    } else if (isOpening(code)) {
      depth += 1;
      values += 1;
      if (depth > MAX_DEPTH) throw refused(`is nested more than ${MAX_DEPTH} levels deep`);
    } else if (isClosing(code)) {
      depth -= 1;
    }
    if (values > MAX_VALUES) throw refused(`has more than ${MAX_VALUES} values`);
  }
}

// "[" and "{", "]" and "}".
const isOpening = (code: number): boolean => code === 91 || code === 123;
const isClosing = (code: number): boolean => code === 93 || code === 125;

/** Index of the quote that ends the string which starts at `start`; the end of the text if none does. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (text.charCodeAt(end - 1 - backslashes) === BACKSLASH) backslashes += 1;
    if (backslashes % 2 === 0) return end;
  }
  return text.length;
}

const refused = (why: string): LehrError => new LehrError('invalid-request', `The body ${why}.`);

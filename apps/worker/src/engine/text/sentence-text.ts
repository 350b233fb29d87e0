/** What sentence-transformers does with a text before its tokenizer gets it. */

export interface SentenceTextOptions {
  readonly strips: boolean;
  readonly lowerCases: boolean;
}

/** What Python's `str.isspace` is true for. JavaScript's `trim` differs: it removes U+FEFF, and leaves U+001C to U+001F and U+0085. */
const isBlank = (character: string): boolean =>
  (character !== '\ufeff' && /\s/.test(character)) || '\u001c\u001d\u001e\u001f\u0085'.includes(character);

export function prepareSentence(text: string, { strips, lowerCases }: SentenceTextOptions): string {
  const stripped = strips ? strip(text) : text;
  return lowerCases ? stripped.toLowerCase() : stripped;
}

/** In linear time: an expression for the blanks at the end would begin again at every blank inside the text. */
function strip(text: string): string {
  let [from, to] = [0, text.length];
  while (from < to && isBlank(text[from])) from += 1;
  while (to > from && isBlank(text[to - 1])) to -= 1;
  return text.slice(from, to);
}

/** A CLIP vocabulary of a few hundred entries: all bytes, a few words and the two special tokens. */

const WORDS = [
  ...['a', 'an', 'the', 'of', 'in', 'on', 'and', 'with', 'under'],
  ...['red', 'green', 'blue', 'yellow', 'white', 'black', 'small', 'large'],
  ...[
    'cat',
    'dog',
    'bird',
    'house',
    'tree',
    'boat',
    'sea',
    'sky',
    'moon',
    'sun',
    'snow',
    'forest',
    'mountain',
  ],
  ...['photo', 'painting', 'watercolor', 'night', 'light'],
];
const END_OF_WORD = '</w>';

/** One printable character for each of the 256 bytes, in the order of CLIP's vocabulary (and GPT-2's). */
export function byteAlphabet(): string[] {
  const isPrintable = (byte: number) => (byte > 32 && byte < 127) || (byte > 160 && byte !== 173);
  const bytes = Array.from({ length: 256 }, (_, byte) => byte);
  const stand = (_: number, i: number) => String.fromCodePoint(256 + i);
  return [
    ...bytes.filter(isPrintable).map((byte) => String.fromCodePoint(byte)),
    ...bytes.filter((byte) => !isPrintable(byte)).map(stand),
  ];
}

/** Ids in CLIP's order: bytes, bytes that end a word, merged entries, start and end of text. */
export function clipVocabulary(merges: readonly string[]): Record<string, number> {
  const alphabet = byteAlphabet();
  const entries = [
    ...alphabet,
    ...alphabet.map((character) => character + END_OF_WORD),
    ...merges.map((merge) => merge.replace(' ', '')),
    '<|startoftext|>',
    '<|endoftext|>',
  ];
  return Object.fromEntries(entries.map((entry, id) => [entry, id]));
}

/** Merges that build each word from the left, in the order of their application. */
export function tinyMerges(): string[] {
  const merges = new Set<string>();
  for (const word of WORDS) {
    const pieces = [...word.slice(0, -1), word.slice(-1) + END_OF_WORD];
    let built = pieces[0];
    for (const piece of pieces.slice(1)) {
      merges.add(`${built} ${piece}`);
      built += piece;
    }
  }
  return [...merges];
}

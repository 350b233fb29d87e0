import { expect, test } from 'vitest';
import { TextUnits, TokenSpans } from './token-spans.ts';

const LARGEST = 65_536;
const SHORTER = 4096;

/** Tokens are single characters, and unknown from 1000 on; counts the characters that are normalized. */
function characterSpans(): { spans: TokenSpans; normalized: () => number } {
  let count = 0;
  const vocabulary = {
    normalizer: {
      normalize: (text: string) => {
        count += 1;
        return text.toLowerCase();
      },
    },
    post_processor: null,
    token_to_id: () => 1000,
    id_to_token: (id: number) => String.fromCodePoint(id),
  };
  const spans = new TokenSpans(vocabulary, { model: {}, pre_tokenizer: null }, '<unk>');
  return { spans, normalized: () => count };
}

const idsOf = (text: string): number[] =>
  [...text.toLowerCase()].filter((each) => each !== ' ').map((each) => each.codePointAt(0) ?? 0);

test('Only as much of a long text is read as its tokens stand for, from its begin or from its end', () => {
  const text = 'Ab c '.repeat(LARGEST / 5);
  const [first, last] = [text.slice(0, 50), text.slice(-50)];
  for (const [part, fromEnd] of [
    [first, false],
    [last, true],
  ] as const) {
    const { spans, normalized } = characterSpans();
    const found = spans.of(text, idsOf(part), fromEnd);
    expect(normalized()).toBeLessThan(200);
    const all = [...text];
    expect(found.map(({ start, end }) => all.slice(start, end).join('').toLowerCase()).join('')).toBe(
      part.toLowerCase().replaceAll(' ', ''),
    );
  }
});

test('Spans at the end of a text are those of the whole text, however many characters make no unit', () => {
  const { spans } = characterSpans();
  const text = `ab${' '.repeat(500)}cd`;
  const ids = idsOf('abcd');
  const whole = spans.of(text, ids, false);
  for (let count = 1; count <= ids.length; count += 1) {
    expect(spans.of(text, ids.slice(-count), true).map(({ start, end }) => [start, end])).toEqual(
      whole.slice(-count).map(({ start, end }) => [start, end]),
    );
  }
});

test('Looking for many tokens that the text does not have compares a number of units that is linear in its length', () => {
  const rules = { unitsOf: (character: string) => [character], prefix: undefined, joined: undefined };
  const units = new TextUnits([...'a'.repeat(SHORTER)], rules);
  let compared = 0;
  const counted = (piece: string[]): string[] =>
    new Proxy(piece, {
      get: (target, name) => {
        if (typeof name === 'string' && /^\d+$/.test(name)) compared += 1;
        return Reflect.get(target, name);
      },
    });
  for (let i = 0; i < 2000; i += 1) expect(units.find(counted(['a', `b${i}`]), i)).toBeUndefined();
  expect(compared).toBeLessThan(64 * SHORTER);
});

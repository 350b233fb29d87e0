import { expect, test } from 'vitest';
import { justEnded, type ReadingOptions, readWindow } from './segments.ts';
import type { SpecialTokens } from './special-tokens.ts';

const SPECIAL: SpecialTokens = {
  end: 100,
  start: 101,
  startOfPrevious: 102,
  noSpeech: 104,
  noTimestamps: 105,
  timestampBegin: 1000,
  multilingual: undefined,
};
const at = (seconds: number): number => 1000 + Math.round(seconds / 0.02);

/** Text tokens decode to numbered words; 0 decodes to a blank. */
const options = (fields: Partial<ReadingOptions> = {}): ReadingOptions => ({
  special: SPECIAL,
  contentFrames: 3000,
  frameSeconds: 0.01,
  timestamps: true,
  decode: (tokens) =>
    tokens
      .filter((id) => id < 100)
      .map((id) => (id === 0 ? ' ' : ` w${id}`))
      .join(''),
  ...fields,
});
const read = (tokens: readonly number[], fields?: Partial<ReadingOptions>) => {
  const { segments, advanceFrames } = readWindow(tokens, options(fields));
  return { times: segments.map(({ start, end, text }) => [start, end, text]), advanceFrames };
};

test('A segment ends where an end is followed by a start, and the next window begins after the last complete one', () => {
  const tokens = [at(0), 1, 2, at(2.4), at(2.4), 3, at(5), at(6), 4];
  expect(read(tokens)).toEqual({
    times: [
      [0, 2.4, ' w1 w2'],
      [2.4, 5, ' w3'],
    ],
    advanceFrames: 500,
  });
});

test('A single time at the very end ends the last segment and the window', () => {
  const tokens = [at(0), 1, at(2.4), at(2.4), 3, at(5)];
  expect(read(tokens)).toEqual({
    times: [
      [0, 2.4, ' w1'],
      [2.4, 5, ' w3'],
    ],
    advanceFrames: 3000,
  });
  expect(read([at(1.14), 1, at(2)]).times).toEqual([[1.14, 2, ' w1']]);
});

test('With a pair of times at the very end, the next window begins there', () => {
  expect(read([at(0), 1, at(2.4), at(2.4)])).toEqual({ times: [[0, 2.4, ' w1']], advanceFrames: 240 });
});

test('Text without an end fills the window', () => {
  expect(read([at(0.5), 1, 2], { contentFrames: 700 })).toEqual({
    times: [[0.5, 7, ' w1 w2']],
    advanceFrames: 700,
  });
  expect(read([1, at(3), 2])).toEqual({ times: [[0, 3, ' w1 w2']], advanceFrames: 3000 });
});

test('Without timestamps the whole window is one segment, whatever the tokens', () => {
  expect(read([1, at(1), at(1), 2], { timestamps: false })).toEqual({
    times: [[0, 30, ' w1 w2']],
    advanceFrames: 3000,
  });
});

test('Segments without text or without length are left out', () => {
  expect(read([at(0), 0, at(1), at(1), 2, at(1), at(2), 3, at(3)]).times).toEqual([[2, 3, ' w3']]);
  expect(read([])).toEqual({ times: [], advanceFrames: 3000 });
});

test('Times after the end of the sound are moved to it, and the text is kept', () => {
  const tokens = [at(0), 1, at(4.8), at(4.8), 2, at(9), at(9), 3, at(9.5)];
  expect(read(tokens, { contentFrames: 500 })).toEqual({
    times: [
      [0, 4.8, ' w1'],
      [4.8, 5, ' w2'],
      [4.98, 5, ' w3'],
    ],
    advanceFrames: 500,
  });
});

test('Every window advances by at least one frame', () => {
  expect(read([at(0), 1, at(0), at(0), 2]).advanceFrames).toBe(3000);
});

test('A segment is returned as soon as it has ended', () => {
  const tokens = [at(0), 1, at(2), at(2.5), 2, 3, at(4), at(4), 4];
  const ended = tokens.map((_, i) => justEnded(tokens.slice(0, i + 1), options())?.text);
  expect(ended).toEqual([
    undefined,
    undefined,
    ' w1',
    undefined,
    undefined,
    undefined,
    ' w2 w3',
    undefined,
    undefined,
  ]);
  expect(justEnded(tokens.slice(0, 7), options())).toMatchObject({ start: 2.5, end: 4 });
});

import { describe, expect, test } from 'vitest';
import {
  delayAfterDecoding,
  type WindowLaneState,
  windowsToEncode,
  windowsToStart,
} from './admit-windows.ts';

interface Window {
  readonly name: string;
  readonly maxBatchMates: number;
}

const windows = (names: string, maxBatchMates = Number.POSITIVE_INFINITY): Window[] =>
  [...names].map((name) => ({ name, maxBatchMates }));

const chosen = (lane: Partial<WindowLaneState<Window>>): string =>
  windowsToEncode({
    waiting: windows('abcdefgh'),
    inLane: [],
    decoderRowCap: 16,
    encoderRowCap: 16,
    ladder: [],
    isDecoding: false,
    decoderDelayMs: 0,
    ...lane,
  })
    .map(({ name }) => name)
    .join('');

describe('windowsToEncode', () => {
  test('The oldest windows are encoded first, as many as one encoder call takes', () => {
    expect(chosen({ encoderRowCap: 3 })).toBe('abc');
    expect(chosen({})).toBe('abcdefgh');
    expect(chosen({ waiting: [] })).toBe('');
  });

  test('Windows are encoded only for free rows of the decoder', () => {
    expect(chosen({ decoderRowCap: 4, inLane: windows('xy') })).toBe('ab');
    expect(chosen({ decoderRowCap: 4, inLane: windows('vwxy') })).toBe('');
  });

  test('A window enters an empty lane whatever the caps are', () => {
    expect(chosen({ decoderRowCap: 0 })).toBe('a');
    expect(chosen({ waiting: windows('ab', 0) })).toBe('a');
  });

  test('maxBatchMates limits the windows in the lane, both when its window joins and when others do', () => {
    expect(chosen({ waiting: windows('abc', 2) })).toBe('ab');
    expect(chosen({ inLane: windows('x', 1) })).toBe('');
    expect(chosen({ inLane: windows('xy'), waiting: [...windows('a', 2), ...windows('bc')] })).toBe('');
  });

  test('A window that does not fit yet is not overtaken by windows behind it', () => {
    expect(
      chosen({ inLane: windows('x'), waiting: [...windows('a'), ...windows('b', 2), ...windows('c')] }),
    ).toBe('a');
  });

  test('On a provider that tunes per shape, a call has as many windows as a rung of the ladder', () => {
    expect(chosen({ encoderRowCap: 7, ladder: [1, 2, 4, 8] })).toBe('abcd');
    expect(chosen({ encoderRowCap: 1, ladder: [2, 4] })).toBe('a');
  });

  test('Encoding waits while it has delayed the decoder for 2 s, unless the decoder is idle', () => {
    expect(chosen({ isDecoding: true, decoderDelayMs: 1999 })).toBe('abcdefgh');
    expect(chosen({ isDecoding: true, decoderDelayMs: 2000 })).toBe('');
    expect(chosen({ isDecoding: false, decoderDelayMs: 2000 })).toBe('abcdefgh');
  });

  test('Decoding makes up for three times its own duration of delay', () => {
    expect(delayAfterDecoding(2000, 10)).toBe(1970);
    expect(delayAfterDecoding(20, 10)).toBe(0);
  });
});

describe('windowsToStart', () => {
  const encoded = (...lengths: readonly number[]) =>
    lengths.map((length, index) => ({ index, prompt: new Array<number>(length).fill(0) }));
  const started = (lengths: readonly number[], ladder: readonly number[] = []): number[] =>
    windowsToStart(encoded(...lengths), ladder).map(({ index }) => index);

  test('The oldest window starts together with those whose prompts have the same length', () => {
    expect(started([3, 4, 3, 3])).toEqual([0, 2, 3]);
  });

  test('A call starts at most eight windows and reads at most 512 tokens, but always one window', () => {
    expect(started(new Array<number>(10).fill(3))).toHaveLength(8);
    expect(started(new Array<number>(10).fill(200))).toHaveLength(2);
    expect(started([600, 600])).toEqual([0]);
  });

  test('On a provider that tunes per shape, a call has as many windows as a rung of the ladder', () => {
    expect(started([3, 3, 3], [1, 2, 4])).toEqual([0, 1]);
  });
});

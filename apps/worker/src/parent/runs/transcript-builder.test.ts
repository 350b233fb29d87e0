import type { SpeechToTextInput } from '@lehr/shared';
import { describe, expect, test } from 'vitest';
import type { SampleId, TranscribedMessage, WindowSegment } from '../../engine/protocol/messages.ts';
import { TranscriptBuilder } from './transcript-builder.ts';

const segment = (start: number, end: number, text: string): WindowSegment => ({
  start,
  end,
  text,
  tokens: [7],
});

const windowOf = (...segments: WindowSegment[]): TranscribedMessage => ({
  type: 'transcribed',
  sample: 'x' as SampleId,
  segments,
  words: segments.map(({ start, end, text }) => ({ word: text.trim(), start, end })),
  tokens: segments.flatMap(({ tokens }) => [...tokens]),
  nextContext: [],
  language: 'es',
  advanceFrames: 1000,
  temperature: 0.2,
  avgLogProbability: -0.5,
  compressionRatio: 1.1,
  noSpeechProbability: 0.01,
  batchSize: 1,
  timings: { encodedAt: 1, startedAt: 2, decodedAt: 3, deviceMs: 1 },
});

const input = (changes: Partial<SpeechToTextInput> = {}): SpeechToTextInput => ({
  audio: { kind: 'url', url: 'https://x.example/a.wav' },
  language: null,
  task: 'transcribe',
  prompt: '',
  temperature: 0,
  timestamps: 'segment',
  mode: 'sequential',
  ...changes,
});

describe('partial text', () => {
  test('The parts of the text, joined, are the text of the transcript, whether a segment came before its window ended or with it', () => {
    const builder = new TranscriptBuilder(20, input());
    const parts = [
      builder.addSegment(0, segment(0, 2, ' Fire')),
      builder.add(0, windowOf(segment(0, 2, ' Fire'), segment(2, 4, ' it '))),
      builder.add(10, windowOf(segment(0, 2, ' slowly. '))),
    ];
    expect(parts).toEqual([
      { text: 'Fire', offset: 0 },
      { text: ' it', offset: 4 },
      { text: '  slowly.', offset: 7 },
    ]);
    expect(parts.map(({ text }) => text).join('')).toBe(builder.transcript().text);
  });

  test('The text of the rest of a window comes before the text of the next window', () => {
    const builder = new TranscriptBuilder(20, input({ mode: 'fast' }));
    builder.plan([0, 10]);
    builder.planAlso(6.5);
    expect(builder.add(0, windowOf(segment(0, 6, ' one'))).text).toBe('one');
    expect(builder.add(10, windowOf(segment(0, 1, ' three'))).text).toBe('');
    expect(builder.add(6.5, windowOf(segment(0, 2, ' two'))).text).toBe(' two three');
    expect(builder.transcript().segments.map(({ start }) => start)).toEqual([0, 6.5, 10]);
  });

  test('The text comes in the order of the file when the windows of the fast mode end in another order', () => {
    const builder = new TranscriptBuilder(30, input({ mode: 'fast' }));
    builder.plan([0, 9.5, 21]);
    expect(builder.add(21, windowOf(segment(0, 1, ' three'))).text).toBe('');
    expect(builder.add(0, windowOf(segment(0, 1, ' one')))).toEqual({ text: 'one', offset: 0 });
    expect(builder.add(9.5, windowOf(segment(0, 1, ' two')))).toEqual({ text: ' two three', offset: 3 });
    expect(builder.transcript().text).toBe('one two three');
  });
});

describe('the transcript', () => {
  test('Times are counted from the start of the file, rounded to 0.01 s, and never after its end', () => {
    const builder = new TranscriptBuilder(11.239, input({ timestamps: 'word' }));
    builder.add(9.5, windowOf(segment(0.333, 30, ' end')));
    const { segments, words, language } = builder.transcript();
    expect(segments).toMatchObject([{ id: 0, seek: 950, start: 9.83, end: 11.24, temperature: 0.2 }]);
    expect(words).toEqual([{ word: 'end', start: 9.83, end: 11.24 }]);
    expect(language).toBe('es');
  });

  test('A translation is in English, and the transcript of silence is empty', () => {
    const builder = new TranscriptBuilder(3, input({ task: 'translate' }));
    builder.add(0, windowOf());
    expect(builder.transcript()).toEqual({
      text: '',
      language: 'en',
      duration: 3,
      task: 'translate',
      segments: [],
    });
  });
});

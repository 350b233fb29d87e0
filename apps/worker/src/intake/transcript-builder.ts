/** Puts the windows of a file together, in order, whatever order they are done in. */
import type { Segment, SpeechToTextInput, Transcript, Word } from '@lehr/shared';
import type { HeardSegment, TranscribedMessage } from '../engine/protocol.ts';

interface Window {
  readonly startS: number;
  readonly result: TranscribedMessage;
}

/** Frames of 10 ms, in which OpenAI's `seek` counts. */
const FRAMES_PER_S = 100;

export class TranscriptBuilder {
  /** Seconds of audio. */
  readonly duration: number;
  readonly #input: SpeechToTextInput;
  readonly #windows: Window[] = [];
  /** Segments of the window under way that were given out before it ended. */
  #shown: { startS: number; segments: number } | undefined;

  constructor(duration: number, input: SpeechToTextInput) {
    this.duration = duration;
    this.#input = input;
  }

  /** Of the first window; the ones after it are not asked again. */
  get language(): string | undefined {
    return this.#windows[0]?.result.language;
  }

  get heardSeconds(): number {
    return this.#windows.reduce((latest, { startS, result }) => {
      const end = result.segments.at(-1)?.end ?? result.advanceFrames / FRAMES_PER_S;
      return Math.max(latest, Math.min(this.duration, startS + end));
    }, 0);
  }

  /** Takes a window that is over; returns what of its text was not given out yet, when it is its turn. */
  add(startS: number, result: TranscribedMessage): string {
    this.#windows.push({ startS, result });
    this.#windows.sort((a, b) => a.startS - b.startS);
    if (this.#input.mode === 'fast') return '';
    const shown = this.#shown?.startS === startS ? this.#shown.segments : 0;
    this.#shown = undefined;
    return result.segments.slice(shown).map(({ text }) => text).join('');
  }

  /** Takes a segment of a window that goes on; returns its text to be given out. */
  preview(startS: number, segment: HeardSegment): string {
    if (this.#input.mode === 'fast') return '';
    const before = this.#shown?.startS === startS ? this.#shown.segments : 0;
    this.#shown = { startS, segments: before + 1 };
    return segment.text;
  }

  transcript(): Transcript {
    const segments = this.#windows.flatMap(({ startS, result }) => this.#segmentsOf(startS, result));
    const words = this.#windows.flatMap(({ startS, result }) => this.#wordsOf(startS, result));
    return {
      text: segments.map(({ text }) => text).join('').trim(),
      language: this.#input.task === 'translate' ? 'en' : (this.#input.language ?? this.language ?? 'en'),
      duration: this.duration,
      task: this.#input.task,
      segments: segments.map((segment, id) => ({ ...segment, id })),
      ...(this.#input.timestamps === 'word' && { words }),
    };
  }

  #segmentsOf(startS: number, result: TranscribedMessage): Segment[] {
    return result.segments.map(({ start, end, text, tokens }) => ({
      id: 0,
      seek: Math.round(startS * FRAMES_PER_S),
      start: this.#within(startS + start),
      end: this.#within(startS + end),
      text,
      tokens: [...tokens],
      temperature: result.temperature,
      avg_logprob: result.avgLogProbability,
      compression_ratio: result.compressionRatio,
      no_speech_prob: result.noSpeechProbability,
    }));
  }

  #wordsOf(startS: number, result: TranscribedMessage): Word[] {
    return (result.words ?? []).map(({ word, start, end }) => ({
      word,
      start: this.#within(startS + start),
      end: this.#within(startS + end),
    }));
  }

  /** The decoder may hear the silence after the end; hundredths are all it knows. */
  #within = (seconds: number): number => Math.round(Math.min(seconds, this.duration) * 100) / 100;
}

/** Joins the windows of a file into one transcript, in the order of the file, whatever order they end in. */
import type { Segment, SpeechToTextInput, Transcript, Word } from '@lehr/shared';
import type { TranscribedMessage, WindowSegment } from '../../engine/protocol/messages.ts';

interface Window {
  readonly startS: number;
  readonly result: TranscribedMessage;
}

/** A part of the transcript's text that is final; `offset` characters of the text came before it. */
export interface TextPart {
  readonly text: string;
  readonly offset: number;
}

/** Log-mel frames, the unit of OpenAI's `seek`. */
const FRAMES_PER_S = 100;

export class TranscriptBuilder {
  /** Seconds of audio. */
  readonly duration: number;
  readonly #input: SpeechToTextInput;
  readonly #windows: Window[] = [];
  /** Starts of the windows of the fast mode; the text of the first `#sentWindows` of them is sent. */
  #planned: readonly number[] = [];
  #sentWindows = 0;
  #sentChars = 0;
  /** White space at the end of the text so far. Held back, because the text may end here and must not end in white space. */
  #heldSpace = '';
  /** Segments of the current window that were sent before the window ended. */
  #sentSegments: { startS: number; count: number } | undefined;

  constructor(duration: number, input: SpeechToTextInput) {
    this.duration = duration;
    this.#input = input;
  }

  /** The language of the first window; later windows are decoded in it. */
  get language(): string | undefined {
    return this.#windows[0]?.result.language;
  }

  get transcribedSeconds(): number {
    return this.#windows.reduce((latest, { startS, result }) => {
      const end = result.segments.at(-1)?.end ?? result.advanceFrames / FRAMES_PER_S;
      return Math.max(latest, Math.min(this.duration, startS + end));
    }, 0);
  }

  /** Sets the windows of the fast mode, which are known from the start. */
  plan(startsS: readonly number[]): void {
    this.#planned = startsS;
  }

  /** Adds a window for the end of a planned one that the decoder did not reach. */
  planAlso(startS: number): void {
    this.#planned = [...this.#planned, startS].sort((a, b) => a - b);
  }

  /** Takes a window that has ended. The returned parts of all calls, joined, are the text of the transcript. */
  add(startS: number, result: TranscribedMessage): TextPart {
    this.#windows.push({ startS, result });
    this.#windows.sort((a, b) => a.startS - b.startS);
    if (this.#input.mode === 'fast') return this.#nextPart(this.#textsInOrder());
    const sent = this.#sentSegments?.startS === startS ? this.#sentSegments.count : 0;
    this.#sentSegments = undefined;
    return this.#nextPart(textOf(result, sent));
  }

  /** Takes a segment of a window that has not ended. */
  addSegment(startS: number, segment: WindowSegment): TextPart {
    if (this.#input.mode === 'fast') return this.#nextPart('');
    const before = this.#sentSegments?.startS === startS ? this.#sentSegments.count : 0;
    this.#sentSegments = { startS, count: before + 1 };
    return this.#nextPart(segment.text);
  }

  /** The windows of the fast mode end in any order; their text is sent in the order of the file. */
  #textsInOrder(): string {
    let text = '';
    for (; this.#sentWindows < this.#planned.length; this.#sentWindows += 1) {
      const window = this.#windows.find(({ startS }) => startS === this.#planned[this.#sentWindows]);
      if (!window) break;
      text += textOf(window.result);
    }
    return text;
  }

  #nextPart(more: string): TextPart {
    const isFirst = this.#sentChars === 0;
    const pending = isFirst ? (this.#heldSpace + more).trimStart() : this.#heldSpace + more;
    const text = pending.trimEnd();
    this.#heldSpace = pending.slice(text.length);
    const offset = this.#sentChars;
    this.#sentChars += text.length;
    return { text, offset };
  }

  transcript(): Transcript {
    const segments = this.#windows.flatMap(({ startS, result }) => this.#segmentsOf(startS, result));
    const words = this.#windows.flatMap(({ startS, result }) => this.#wordsOf(startS, result));
    return {
      text: segments
        .map(({ text }) => text)
        .join('')
        .trim(),
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

  /** The decoder may place a time in the padding after the end of the file. Its times are exact to 0.01 s. */
  #within = (seconds: number): number => Math.round(Math.min(seconds, this.duration) * 100) / 100;
}

const textOf = ({ segments }: TranscribedMessage, from = 0): string =>
  segments
    .slice(from)
    .map(({ text }) => text)
    .join('');

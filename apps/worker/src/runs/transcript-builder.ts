/** Puts the windows of a file together, in order, whatever order they are done in. */
import type { Segment, SpeechToTextInput, Transcript, Word } from '@lehr/shared';
import type { TranscribedMessage, WindowSegment } from '../engine/protocol.ts';

interface Window {
  readonly startS: number;
  readonly result: TranscribedMessage;
}

/** What can be given out of the text now, and how many characters of it were given out before. */
export interface Said {
  readonly text: string;
  readonly offset: number;
}

/** Frames of 10 ms, in which OpenAI's `seek` counts. */
const FRAMES_PER_S = 100;

export class TranscriptBuilder {
  /** Seconds of audio. */
  readonly duration: number;
  readonly #input: SpeechToTextInput;
  readonly #windows: Window[] = [];
  /** Where the windows of the fast mode begin; those before `#toldUpTo` have been given out. */
  #planned: readonly number[] = [];
  #toldUpTo = 0;
  #said = 0;
  /** Blanks at the end of what was said: the text may end here, and a text does not end in blanks. */
  #blanks = '';
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

  /** All windows of the fast mode, known from the start. */
  plan(startsS: readonly number[]): void {
    this.#planned = startsS;
  }

  /** One more, inside of a planned one that was not heard to its end. */
  planAlso(startS: number): void {
    this.#planned = [...this.#planned, startS].sort((a, b) => a - b);
  }

  /** Takes a window that is over; the texts it returns, one after the other, are the text of the whole. */
  add(startS: number, result: TranscribedMessage): Said {
    this.#windows.push({ startS, result });
    this.#windows.sort((a, b) => a.startS - b.startS);
    if (this.#input.mode === 'fast') return this.#say(this.#nextTexts());
    const shown = this.#shown?.startS === startS ? this.#shown.segments : 0;
    this.#shown = undefined;
    return this.#say(textOf(result, shown));
  }

  /** Takes a segment of a window that goes on. */
  preview(startS: number, segment: WindowSegment): Said {
    if (this.#input.mode === 'fast') return this.#say('');
    const before = this.#shown?.startS === startS ? this.#shown.segments : 0;
    this.#shown = { startS, segments: before + 1 };
    return this.#say(segment.text);
  }

  /** Windows of the fast mode are done in any order and told in theirs. */
  #nextTexts(): string {
    let text = '';
    for (; this.#toldUpTo < this.#planned.length; this.#toldUpTo += 1) {
      const window = this.#windows.find(({ startS }) => startS === this.#planned[this.#toldUpTo]);
      if (!window) break;
      text += textOf(window.result);
    }
    return text;
  }

  #say(more: string): Said {
    const text = this.#said === 0 ? (this.#blanks + more).trimStart() : this.#blanks + more;
    const told = text.trimEnd();
    this.#blanks = text.slice(told.length);
    const offset = this.#said;
    this.#said += told.length;
    return { text: told, offset };
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

  /** The decoder may hear the silence after the end; hundredths are all it knows. */
  #within = (seconds: number): number => Math.round(Math.min(seconds, this.duration) * 100) / 100;
}

const textOf = ({ segments }: TranscribedMessage, from = 0): string =>
  segments
    .slice(from)
    .map(({ text }) => text)
    .join('');

/** Formats a transcript as OpenAI's audio endpoints do: text, json, verbose_json, srt, vtt. Pure. */
import type { Segment, Transcript } from '../speech-to-text.ts';
import { LANGUAGE_NAMES } from './language-names.ts';

export const TRANSCRIPT_FORMATS = ['json', 'text', 'srt', 'verbose_json', 'vtt'] as const;
export type TranscriptFormat = (typeof TRANSCRIPT_FORMATS)[number];

export interface FormattedTranscript {
  readonly contentType: string;
  readonly body: string;
}

export function formatTranscript(transcript: Transcript, format: TranscriptFormat): FormattedTranscript {
  switch (format) {
    case 'text':
      return { contentType: 'text/plain; charset=utf-8', body: `${transcript.text}\n` };
    case 'srt':
      return { contentType: 'application/x-subrip; charset=utf-8', body: toSrt(transcript.segments) };
    case 'vtt':
      return { contentType: 'text/vtt; charset=utf-8', body: toVtt(transcript.segments) };
    case 'json':
      return json({ text: transcript.text, usage: usageOf(transcript) });
    case 'verbose_json':
      return json(toVerboseJson(transcript));
  }
}

const json = (value: object): FormattedTranscript => ({
  contentType: 'application/json',
  body: JSON.stringify(value),
});

const usageOf = ({ duration }: Transcript) => ({ type: 'duration', seconds: duration });

/** The object that OpenAI calls verbose_json; it names the language in English. */
function toVerboseJson(transcript: Transcript): object {
  const { task, language, duration, text, segments, words } = transcript;
  return {
    task,
    language: LANGUAGE_NAMES[language] ?? language,
    duration,
    text,
    segments,
    ...(words && { words }),
    usage: usageOf(transcript),
  };
}

/** Cues numbered from 1; an empty string when there is no text. */
export const toSrt = (segments: readonly TimedText[]): string =>
  cuesOf(segments)
    .map(({ start, end, line }, i) => {
      const times = `${clockTime(start, ',')} --> ${clockTime(end, ',')}`;
      // SubRip has no escapes, and an arrow in the text would be read as a line of times.
      return `${i + 1}\n${times}\n${line.replaceAll('-->', '->')}\n`;
    })
    .join('\n');

export const toVtt = (segments: readonly TimedText[]): string =>
  [
    'WEBVTT\n',
    ...cuesOf(segments).map(({ start, end, line }) => {
      const times = `${clockTime(start, '.')} --> ${clockTime(end, '.')}`;
      return `${times}\n${escapeVtt(line)}\n`;
    }),
  ].join('\n');

type TimedText = Pick<Segment, 'start' | 'end' | 'text'>;

interface Cue {
  /** Milliseconds. */
  readonly start: number;
  readonly end: number;
  /** One line, because a blank line would end the cue. */
  readonly line: string;
}

/** In order of time, in whole milliseconds: each cue lasts at least 1 ms, and none overlaps the next. */
function cuesOf(segments: readonly TimedText[]): Cue[] {
  const cues: Cue[] = [];
  const spoken = segments
    .map((segment) => ({ ...segment, line: lineOf(segment.text) }))
    .filter(({ line }) => line !== '')
    .sort((a, b) => a.start - b.start);
  for (const [i, { start, end, line }] of spoken.entries()) {
    const from = Math.max(milliseconds(start), cues.at(-1)?.end ?? 0);
    const next = i + 1 < spoken.length ? milliseconds(spoken[i + 1].start) : Number.POSITIVE_INFINITY;
    const to = Math.max(from + 1, Math.min(milliseconds(end), next));
    cues.push({ start: from, end: to, line });
  }
  return cues;
}

const milliseconds = (seconds: number): number => Math.max(0, Math.round(seconds * 1000));

const lineOf = (text: string): string => text.replace(BREAKS_AND_CONTROLS, ' ').trim();
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to replace
const BREAKS_AND_CONTROLS = /[\u0000-\u001f\u007f\u0085\u2028\u2029]+/g;

const escapeVtt = (line: string): string =>
  line.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** `HH:MM:SS,mmm`, with `mark` before the milliseconds. */
function clockTime(ms: number, mark: ',' | '.'): string {
  const pad = (value: number, digits: number): string => String(value).padStart(digits, '0');
  const seconds = Math.floor(ms / 1000);
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  return `${pad(hours, 2)}:${pad(minutes, 2)}:${pad(seconds % 60, 2)}${mark}${pad(ms % 1000, 3)}`;
}

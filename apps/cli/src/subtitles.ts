/** Formats timed segments as subtitles. */
import type { Segment } from '@lehr/client';

type Cue = Pick<Segment, 'start' | 'end' | 'text'>;

/** SubRip (.srt): cues are numbered from 1, with a comma before the milliseconds. */
export const srtOf = (segments: readonly Cue[]): string =>
  segments.map((cue, i) => `${i + 1}\n${timesOf(cue, ',')}\n${cue.text.trim()}\n`).join('\n');

/** WebVTT (.vtt): a point before the milliseconds. */
export const vttOf = (segments: readonly Cue[]): string =>
  ['WEBVTT\n', ...segments.map((cue) => `${timesOf(cue, '.')}\n${cue.text.trim()}\n`)].join('\n');

const timesOf = ({ start, end }: Cue, point: string): string =>
  `${clockOf(start, point)} --> ${clockOf(end, point)}`;

function clockOf(seconds: number, point: string): string {
  const ms = Math.round(seconds * 1000);
  const two = (value: number): string => String(Math.floor(value)).padStart(2, '0');
  const whole = `${two(ms / 3_600_000)}:${two((ms / 60_000) % 60)}:${two((ms / 1000) % 60)}`;
  return `${whole}${point}${String(ms % 1000).padStart(3, '0')}`;
}

/**
 * Where to cut a long waveform so that no word is cut. The fast mode runs all windows of a file at once, so a window cannot start where
 * the text of the one before it ends, as in the sequential mode. Energy-based voice activity with hysteresis.
 */
import { readWaveform, WAVEFORM_RATE, type Waveform } from './waveform.ts';

/** Samples [start, end). */
export interface SampleRange {
  readonly start: number;
  readonly end: number;
}

const FRAME_SAMPLES = WAVEFORM_RATE / 50;
const READ_FRAMES = 1500;
/** 300 ms: shorter gaps are inside words (the closure of a plosive takes 100 ms). */
const MIN_SILENCE_FRAMES = 15;
/** Words fade: a cut keeps its distance from them. */
const MARGIN_SAMPLES = (MIN_SILENCE_FRAMES * FRAME_SAMPLES) / 2;
/** A window has at least this part of its full length: short windows waste the encoder. */
const MIN_WINDOW_SHARE = 1 / 3;
/** Where there is no silence to cut at, the cut is in the quietest stretch of this length. */
const LULL_FRAMES = 5;
/** From the loud parts of speech down to what cannot be heard beside them. */
const SPEECH_RANGE_DB = 45;
/** A smaller range shows no pauses: the file is all speech, all music or all noise. */
const MIN_RANGE_DB = 12;
/** Digital silence; 16-bit sound has nothing below -90 dB. */
const FLOOR_DB = -100;

/**
 * The whole waveform in ranges of at most `maxSamples` (a second or more), back to back: cut in the middle of the last
 * silence that fits, else where it is quietest.
 */
export function cutAtSilences(waveform: Waveform, maxSamples: number): SampleRange[] {
  if (waveform.length <= maxSamples) return [{ start: 0, end: waveform.length }];
  const levels = levelsOf(waveform);
  const silences = silencesOf(levels);
  const ranges: SampleRange[] = [];
  let start = 0;
  while (waveform.length - start > maxSamples) {
    const least = start + Math.floor(maxSamples * MIN_WINDOW_SHARE);
    const end = cutBetween(least, start + maxSamples, silences, levels);
    ranges.push({ start, end });
    start = end;
  }
  return [...ranges, { start, end: waveform.length }];
}

/** In samples, after `from` and not after `to`. */
function cutBetween(
  from: number,
  to: number,
  silences: readonly SampleRange[],
  levels: Float32Array,
): number {
  for (const { start, end } of silences.toReversed()) {
    // The part of the silence that lies within the window.
    const cut = Math.min(Math.max(Math.round((start + end) / 2), from), to);
    if (cut >= start + MARGIN_SAMPLES && cut <= end - MARGIN_SAMPLES) return cut;
  }
  return quietest(Math.ceil(from / FRAME_SAMPLES), Math.floor(to / FRAME_SAMPLES), levels) * FRAME_SAMPLES;
}

/** The frame in the middle of the quietest stretch that lies within [from, to). Of equally quiet ones the last, so that windows are fuller. */
function quietest(from: number, to: number, levels: Float32Array): number {
  let best = to;
  let bestLevel = Number.POSITIVE_INFINITY;
  for (let frame = from; frame + LULL_FRAMES <= to; frame++) {
    let level = 0;
    for (let i = 0; i < LULL_FRAMES; i++) level += levels[frame + i];
    if (level > bestLevel) continue;
    bestLevel = level;
    best = frame + Math.ceil(LULL_FRAMES / 2);
  }
  return best;
}

/** Loudness of every 20 ms, in decibels below full scale; the last, shorter one counts too. */
function levelsOf(waveform: Waveform): Float32Array {
  const levels = new Float32Array(Math.ceil(waveform.length / FRAME_SAMPLES));
  for (let first = 0; first < levels.length; first += READ_FRAMES) {
    const count = Math.min(READ_FRAMES, levels.length - first);
    const samples = readWaveform(waveform, first * FRAME_SAMPLES, (first + count) * FRAME_SAMPLES);
    for (let frame = 0; frame < count; frame++) {
      let energy = 0;
      for (let i = frame * FRAME_SAMPLES; i < (frame + 1) * FRAME_SAMPLES; i++) energy += samples[i] ** 2;
      levels[first + frame] = Math.max(10 * Math.log10(energy / FRAME_SAMPLES), FLOOR_DB);
    }
  }
  return levels;
}

/**
 * Stretches without speech. Speech begins above one level and ends only below a lower one, both between the file's own noise
 * floor and its own loud parts: a quiet recording is not all silence, a noisy one not all speech.
 */
function silencesOf(levels: Float32Array): SampleRange[] {
  const sorted = levels.toSorted();
  const loud = sorted[Math.floor(sorted.length * 0.95)];
  // Digital zeros between words must not make speech of the room's noise.
  const floor = Math.max(sorted[Math.floor(sorted.length * 0.1)], loud - SPEECH_RANGE_DB);
  const range = loud - floor;
  if (range < MIN_RANGE_DB) return [];
  const begins = floor + 0.4 * range;
  const ends = floor + 0.25 * range;
  const silences: SampleRange[] = [];
  let quietSince: number | undefined = 0;
  for (let frame = 0; frame <= levels.length; frame++) {
    const isEnd = frame === levels.length;
    if (quietSince === undefined) {
      if (!isEnd && levels[frame] < ends) quietSince = frame;
    } else if (isEnd || levels[frame] >= begins) {
      if (frame - quietSince >= MIN_SILENCE_FRAMES) {
        silences.push({ start: quietSince * FRAME_SAMPLES, end: frame * FRAME_SAMPLES });
      }
      quietSince = undefined;
    }
  }
  return silences;
}

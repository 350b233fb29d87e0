/**
 * The windows of a recording as parts of its one log-mel, as openai/whisper's transcribe.py takes them: the loudest moment of the recording
 * clamps every window, and the frames at the ends of a window hear the sound beyond them. Zeros follow the recording.
 *
 * The log-mel of an hour takes 115 MB, or 184 MB with 128 bins. So a first pass keeps its largest value only, and each window is computed
 * when it is needed.
 */
import { clampAndScale, framesOf, type LogMelConfig, logPowers, loudestIn } from './log-mel.ts';
import type { SampleRange } from './silence.ts';
import { readWaveform, type Waveform } from './waveform.ts';

export interface RecordingPart {
  /** [melBins, frames], row-major. */
  readonly mel: Float32Array;
  /** What clamped it: the largest log10 of a mel power in the recording. */
  readonly loudest: number;
}

/**
 * The part that starts at `startSample`, a multiple of `hopLength`. `loudest`: the largest value of `rangesToHear`. Undefined when there is
 * no range and the part is the first one: it has all frames, and the parts after it are told what it found.
 */
export function recordingMel(
  waveform: Waveform,
  startSample: number,
  config: LogMelConfig,
  loudest: number | undefined,
): RecordingPart {
  const powers = partPowers(waveform, startSample, config);
  const most = loudest ?? loudestIn(powers);
  return { mel: clampAndScale(powers, most), loudest: most };
}

/** The largest log10 of a mel power in the frames that begin in this range, whose start is a multiple of `hopLength`. */
export function loudestOf(waveform: Waveform, { start, end }: SampleRange, config: LogMelConfig): number {
  let loudest = Number.NEGATIVE_INFINITY;
  const wholeFrames = framesOf(config) * config.hopLength;
  for (let from = start; from < end; from += wholeFrames) {
    // A shorter part at the end: the frames behind it belong to another range, and are computed there.
    const windowSamples = Math.min(wholeFrames, end - from);
    loudest = Math.max(loudest, loudestIn(partPowers(waveform, from, { ...config, windowSamples })));
  }
  return loudest;
}

/**
 * Ranges for `loudestOf` that have all frames of the recording. Each takes `windows` windows, so that no task is long. None when one
 * window has all frames: its own loudest value is that of the recording.
 */
export function rangesToHear(length: number, config: LogMelConfig, windows: number): SampleRange[] {
  // Frames are centred: those that begin up to half a transform behind the end still hear its sound.
  const end = Math.ceil((length + config.fftSize / 2) / config.hopLength) * config.hopLength;
  const most = framesOf(config) * config.hopLength * windows;
  const count = end <= config.windowSamples ? 0 : Math.ceil(end / most);
  return Array.from({ length: count }, (_, i) => ({ start: i * most, end: Math.min((i + 1) * most, end) }));
}

function partPowers(waveform: Waveform, startSample: number, config: LogMelConfig): Float32Array {
  const reach = config.fftSize / 2;
  const from = startSample - reach;
  const around = Float64Array.from(readWaveform(waveform, from, startSample + config.windowSamples + reach));
  if (from < 0) mirrorStart(waveform, around, -from);
  return logPowers(around, Math.max(0, waveform.length - startSample), config);
}

/** Fills the `missing` samples before the recording with its first ones, mirrored; the outermost sample is not repeated. */
function mirrorStart(waveform: Waveform, around: Float64Array, missing: number): void {
  const first = readWaveform(waveform, 1, missing + 1);
  for (const [i, sample] of first.entries()) around[missing - 1 - i] = sample;
}

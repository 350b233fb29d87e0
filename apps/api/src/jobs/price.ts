/**
 * What a job costs: estimated milliseconds of one worker's engine, from row-steps (rows of the UNet batch times denoising
 * steps; a picture with guidance takes two rows). Text encoding and decoding are small beside them and not counted.
 */
import {
  type DiffusionGroup,
  formatModelRef,
  groupQueueName,
  parseGroupQueueName,
  rowsPerSample,
  type TextToImageInput,
  type WorkerStatus,
} from '@lehr/shared';

/**
 * Pixels times row-steps per second of a worker that nobody has measured yet: a T4 running SD 1.5 in fp16 takes 61.9 ms for
 * one row at 512x512.
 */
export const DEFAULT_PIXEL_STEPS_PER_S = (512 * 512) / 0.0619;

export const rowStepsOf = (input: Pick<TextToImageInput, 'n' | 'guidance' | 'steps'>): number =>
  input.n * rowsPerSample(input.guidance) * input.steps;

/** Estimated engine ms of the job, at least 1. */
export function priceOf(
  input: TextToImageInput,
  group: DiffusionGroup,
  fleet: readonly WorkerStatus[],
): number {
  return Math.max(1, Math.round((rowStepsOf(input) / rowStepsPerSecond(group, fleet)) * 1000));
}

/**
 * Row-steps per second of one worker on this group: the mean of what the fleet measured; else what it measured on other sizes
 * of the same model, in proportion to their pixels; else the default.
 */
export function rowStepsPerSecond(group: DiffusionGroup, fleet: readonly WorkerStatus[]): number {
  const queue = groupQueueName(group);
  const measured = fleet.flatMap((worker) => worker.lanes).filter((lane) => lane.row_steps_per_s > 0);
  const own = measured.filter((lane) => lane.queue === queue);
  if (own.length > 0) return mean(own.map((lane) => lane.row_steps_per_s));
  const pixelSteps = measured.flatMap((lane) => {
    const other = parseGroupQueueName(lane.queue);
    return other?.task === 'diffusion' && formatModelRef(other.model) === formatModelRef(group.model)
      ? [lane.row_steps_per_s * other.width * other.height]
      : [];
  });
  const rate = pixelSteps.length > 0 ? mean(pixelSteps) : DEFAULT_PIXEL_STEPS_PER_S;
  return rate / (group.width * group.height);
}

/** A T4 running a small Whisper in fp16, with several files in a batch. */
const DEFAULT_AUDIO_S_PER_S = 20;
/** Of speech as people send it: mp3 or ogg. A WAV of the same length is dearer than it should be, which is on the safe side. */
const BYTES_PER_AUDIO_S = 16_000;
/** Of a file nobody has looked at. */
const UNKNOWN_AUDIO_S = 30;

/** Estimated engine ms of transcribing so many bytes, at least 1. A row-step of speech is a second of audio. */
export function priceOfSpeech(
  bytes: number | undefined,
  queue: string,
  fleet: readonly WorkerStatus[],
): number {
  const seconds = bytes === undefined ? UNKNOWN_AUDIO_S : bytes / BYTES_PER_AUDIO_S;
  const lanes = fleet.flatMap((worker) => worker.lanes);
  const measured = lanes.filter((lane) => lane.queue === queue && lane.row_steps_per_s > 0);
  const rate =
    measured.length > 0 ? mean(measured.map((lane) => lane.row_steps_per_s)) : DEFAULT_AUDIO_S_PER_S;
  return Math.max(1, Math.round((seconds / rate) * 1000));
}

const mean = (values: readonly number[]): number =>
  values.reduce((sum, each) => sum + each, 0) / values.length;

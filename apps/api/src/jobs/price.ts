/**
 * Estimates what a job costs, in milliseconds of one worker's engine. Pictures are priced by row-steps: rows of the UNet batch
 * (two per picture with guidance) times denoising steps. Text encoding and decoding are small in comparison and not counted.
 */
import {
  type Control,
  type DiffusionGroup,
  type DiffusionModelEntry,
  FAMILY_TRAITS,
  formatModelRef,
  type GuidanceKind,
  groupQueueName,
  isPlainUpscaler,
  passesOf,
  rowsOfTransform,
  rowsPerSample,
  speechCostMs,
  stepsMade,
  type TextToImageInput,
  type TransformModelEntry,
  transformCostMs,
  type WorkerStatus,
} from '@lehr/shared';
import { fleetIndex } from '../fleet/fleet-index.ts';
import type { PictureSize } from './picture-header.ts';

/** Pixels times row-steps per second before the first measurement: a T4 with SD 1.5 in fp16 takes 61.9 ms per row at 512x512. */
export const DEFAULT_PIXEL_STEPS_PER_S = (512 * 512) / 0.0619;

export const rowStepsOf = (
  input: Pick<TextToImageInput, 'n' | 'guidance'> & Parameters<typeof stepsMade>[0],
  guidance: GuidanceKind = 'rows',
): number => input.n * rowsPerSample(input.guidance, guidance) * stepsMade(input);

interface PricedInput extends Omit<TextToImageInput, 'control'> {
  readonly control?: readonly Pick<Control, 'start' | 'end'>[] | undefined;
}

/** Estimated engine ms of the job, at least 1. A second pass has the price of its own size. */
export function priceOf(
  input: PricedInput,
  group: DiffusionGroup,
  fleet: readonly WorkerStatus[],
  model?: Pick<DiffusionModelEntry, 'family' | 'guidance' | 'adapters'>,
): number {
  const costPerPixel = model && FAMILY_TRAITS[model.family].costPerPixel * costOfAdapters(model);
  const seconds = passesOf(input).map((pass, i) => {
    const { width, height } = pass;
    const ownGroup = i === 0 ? group : { ...group, width, height };
    const rowSteps = rowStepsOf(pass, model?.guidance) * costOfControls(input);
    return rowSteps / rowStepsPerSecond(ownGroup, fleet, costPerPixel);
  });
  const ms = seconds.reduce((sum, each) => sum + each, 0) * 1000 + priceOfUpscaler(input, fleet);
  return Math.max(1, Math.round(ms));
}

/**
 * More work of each step per adapter, of rank 32 in all layers of the transformer blocks (docs/adapters.md has what was measured), and the
 * adapters of that rank that a model can have.
 */
const ADAPTER_COST = { share: 0.02, most: 16 };

/** Every row of a step runs through all adapters of its model, also where they add nothing. What workers measure has them in it. */
const costOfAdapters = ({ adapters }: Pick<DiffusionModelEntry, 'adapters'>): number =>
  1 + ADAPTER_COST.share * Math.min(adapters.length, ADAPTER_COST.most);

/** A ControlNet is the first half of a UNet, and some layers that read its picture. Measured with Stable Diffusion 1.5 (docs/adapters.md). */
const CONTROL_SHARE = 0.4;

/** Each runs for the rows of its picture, in the steps of its window. */
const costOfControls = ({ control = [] }: PricedInput): number =>
  1 + CONTROL_SHARE * control.reduce((sum, { start, end }) => sum + end - start, 0);

/** Of the model between two passes; 0 without one. */
function priceOfUpscaler({ width, height, hires, n }: PricedInput, fleet: readonly WorkerStatus[]): number {
  if (!hires || isPlainUpscaler(hires.upscaler)) return 0;
  const [name, version] = hires.upscaler.split('@');
  const queue = groupQueueName({ task: 'transform', model: { name, version } });
  return n * priceOfTransform({ result: 'picture' }, { width, height }, fleetIndex(fleet).speed(queue));
}

/**
 * Row-steps per second of one worker on this group: the mean of the fleet's measurements; without any, those of other sizes of
 * the same model in proportion to their pixels; without those, the default for its family.
 */
export function rowStepsPerSecond(
  group: DiffusionGroup,
  fleet: readonly WorkerStatus[],
  costPerPixel = 1,
): number {
  const index = fleetIndex(fleet);
  const own = index.speed(groupQueueName(group));
  if (own !== undefined) return own;
  const rate = index.pixelSpeed(formatModelRef(group.model)) ?? DEFAULT_PIXEL_STEPS_PER_S / costPerPixel;
  return rate / (group.width * group.height);
}

/** Of speech as mp3 or ogg. A WAV has more bytes per second and is priced too high until it is decoded. */
const BYTES_PER_AUDIO_S = 16_000;
/** For audio of unknown size, given by URL. */
const UNKNOWN_AUDIO_S = 30;

/**
 * Estimated engine ms of transcribing this many bytes, at least 1. The worker charges the difference to the real cost when it has decoded
 * them.
 */
export function priceOfSpeech(
  bytes: number | undefined,
  queue: string,
  fleet: readonly WorkerStatus[],
): number {
  const seconds = bytes === undefined ? UNKNOWN_AUDIO_S : bytes / BYTES_PER_AUDIO_S;
  const speed = fleetIndex(fleet).speed(queue);
  return speechCostMs(seconds, queue, speed === undefined ? [] : [{ queue, row_steps_per_s: speed }]);
}

/** For a picture whose size is unknown, given by URL. */
const UNKNOWN_SIZE = { width: 1024, height: 1024 };

/** Estimated engine ms of transforming a picture, at least 1. The worker charges the difference to the tiles that it ran. */
export const priceOfTransform = (
  { result, input }: Pick<TransformModelEntry, 'result' | 'input'>,
  size: PictureSize = UNKNOWN_SIZE,
  speed: number | undefined,
): number => transformCostMs(rowsOfTransform(result, size, input?.width), speed);

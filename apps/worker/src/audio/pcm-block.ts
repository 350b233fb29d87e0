import { LehrError } from '@lehr/shared';

/**
 * What every decoder of this room yields: a stretch of sound at the file's own rate, one array per channel, all of the
 * same length. The arrays may be used again for the next block: copy what must live longer.
 */
export interface PcmBlock {
  readonly sampleRate: number;
  readonly channels: readonly Float32Array[];
}

export type PcmBlocks = AsyncGenerator<PcmBlock, void> | Generator<PcmBlock, void>;

const MIN_RATE = 8000;
const MAX_RATE = 192_000;
export const MAX_CHANNELS = 8;

/**
 * Refuses a shape before anything is allocated by it: 1 Hz would make every sample a second of sound, and no speech
 * comes in 60,000 channels. Throws LehrError `invalid-audio`.
 */
export function checkShape(sampleRate: number, channelCount: number): void {
  if (!(sampleRate >= MIN_RATE && sampleRate <= MAX_RATE)) {
    throw new LehrError(
      'invalid-audio',
      `The file says its sample rate is ${sampleRate} Hz; ${MIN_RATE} to ${MAX_RATE} Hz are supported.`,
    );
  }
  if (!(channelCount >= 1 && channelCount <= MAX_CHANNELS)) {
    throw new LehrError(
      'invalid-audio',
      `The file says it has ${channelCount} channels; 1 to ${MAX_CHANNELS} are supported.`,
    );
  }
}

export const tooLong = (maxDurationS: number): LehrError =>
  new LehrError('too-large', `The audio is longer than the ${maxDurationS} seconds allowed.`);

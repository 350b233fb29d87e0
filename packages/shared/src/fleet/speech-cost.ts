/** What a transcription costs, for the API that admits it by its bytes and the worker that knows its length. */
import { type LaneSpeed, laneSpeed } from './lane-speed.ts';

/** Seconds of audio per second of a T4 with a small Whisper in fp16 and several files in a batch. */
const DEFAULT_AUDIO_S_PER_S = 20;

/**
 * A shorter file costs as much as one of this length, because the encoder reads a whole window of 30 s of every file: with Whisper base on a
 * CPU that is 1.0 s of the 3.5 s that a full window takes. Otherwise a tenant's hundreds of tiny files would count as almost no work.
 */
const LEAST_AUDIO_S = 10;

/** Estimated engine ms of so many seconds of audio, at least 1. A row-step of speech is one second of audio. */
export function speechCostMs(audioS: number, queue: string, lanes: readonly LaneSpeed[]): number {
  const rate = laneSpeed(queue, lanes) ?? DEFAULT_AUDIO_S_PER_S;
  return Math.max(1, Math.round((Math.max(LEAST_AUDIO_S, audioS) / rate) * 1000));
}

/** What a transcription costs, for the API that admits it by its bytes and the worker that knows its length. */
import { type LaneSpeed, laneSpeed } from './lane-speed.ts';

/** Seconds of audio per second of a T4 with a small Whisper in fp16 and several files in a batch. */
const DEFAULT_AUDIO_S_PER_S = 20;

/** Estimated engine ms of so many seconds of audio, at least 1. A row-step of speech is one second of audio. */
export function speechCostMs(audioS: number, queue: string, lanes: readonly LaneSpeed[]): number {
  const rate = laneSpeed(queue, lanes) ?? DEFAULT_AUDIO_S_PER_S;
  return Math.max(1, Math.round((audioS / rate) * 1000));
}

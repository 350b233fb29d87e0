/** A window of a file as its run tracks it, and what the engine gets of it. */
import { randomUUID } from 'node:crypto';
import type { SpeechToTextInput } from '@lehr/shared';
import type { JobRecord } from '@lehr/shared/records';
import type { FrontEnd, SampleId, WhisperSample } from '../../engine/protocol/messages.ts';
import type { SampleRange } from '../audio/audio-processor.ts';
import type { SampleRun } from './job-run.ts';

/** `start` and `end` are in samples of the waveform. */
export interface WindowRun extends SampleRun, SampleRange {
  readonly request: WhisperSample;
}

/** What is different in each window of a file. */
export interface WindowOfFile {
  /** Windows of this file that were begun before it. */
  readonly index: number;
  readonly range: SampleRange;
  readonly mel: Float32Array;
  /** Null to detect the language. */
  readonly language: string | null;
  readonly prompt: string;
  readonly previousTokens: readonly number[];
}

export function windowRun(
  { id, model, queue, priority }: JobRecord,
  input: SpeechToTextInput,
  frontEnd: FrontEnd,
  { index, range, ...parts }: WindowOfFile,
): WindowRun {
  return {
    request: {
      ...parts,
      id: `${id}.${index}.${randomUUID()}` as SampleId,
      task: 'whisper',
      model,
      lane: queue,
      priority,
      contentFrames: contentFrames(range, input, frontEnd),
      translate: input.task === 'translate',
      temperature: input.temperature,
      fallback: input.temperature === 0,
      seed: index,
      timestamps: input.timestamps,
      maxBatchMates: Number.MAX_SAFE_INTEGER,
    },
    ...range,
    rows: 1,
    submittedAt: 0,
    step: 0,
    inEngine: false,
  };
}

/** In sequence, a frame that the file ends in is not counted, as in openai/whisper; a window that is alone keeps it. */
function contentFrames({ start, end }: SampleRange, { mode }: SpeechToTextInput, frontEnd: FrontEnd): number {
  const frames = (end - start) / frontEnd.hopLength;
  const whole = mode === 'fast' ? Math.ceil(frames) : Math.floor(frames);
  return Math.max(1, Math.min(frontEnd.windowFrames, whole));
}

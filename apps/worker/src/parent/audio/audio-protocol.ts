/** The messages between the worker's parent and an audio thread. One task at a time, one answer to each. */
import type { ErrorCode } from '@lehr/shared';
import type { LogMelConfig } from './log-mel.ts';
import type { RecordingPart } from './recording-mel.ts';
import type { SampleRange } from './silence.ts';
import type { Waveform } from './waveform.ts';

interface MelTask {
  readonly type: 'mel';
  readonly waveform: Waveform;
  readonly startSample: number;
  /** Samples from here on count as silence. */
  readonly endSample: number;
  readonly config: LogMelConfig;
}

/** A window as part of its recording: recording-mel.ts. */
interface PartTask {
  readonly type: 'part';
  readonly waveform: Waveform;
  readonly startSample: number;
  readonly config: LogMelConfig;
  readonly loudest: number | undefined;
}

interface LoudestTask {
  readonly type: 'loudest';
  readonly waveform: Waveform;
  readonly range: SampleRange;
  readonly config: LogMelConfig;
}

interface CutTask {
  readonly type: 'cut';
  readonly waveform: Waveform;
  readonly maxSamples: number;
}

export type AudioTask = MelTask | PartTask | LoudestTask | CutTask;

export type AudioAnswer =
  /** [melBins, frames], row-major. */
  | { readonly type: 'mel'; readonly mel: Float32Array }
  | ({ readonly type: 'part' } & RecordingPart)
  | { readonly type: 'loudest'; readonly loudest: number }
  | { readonly type: 'cut'; readonly ranges: readonly SampleRange[] }
  | { readonly type: 'failed'; readonly failure: { readonly code: ErrorCode; readonly message: string } };

/** The first message of a thread: its modules are loaded. */
export const AUDIO_THREAD_READY = 'ready';

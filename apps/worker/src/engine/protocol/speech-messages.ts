/** The messages of Whisper models between the worker and its engine. */
import type { SampleId } from './samples.ts';

/** What turns a waveform into the log-mel windows that a model's encoder takes; from its preprocessor_config.json. */
export interface FrontEnd {
  /** Samples per second of the waveform. */
  readonly sampleRate: 16_000;
  readonly melBins: number;
  readonly fftSize: 400;
  /** Samples from one mel frame to the next. */
  readonly hopLength: number;
  /** Samples of a whole window. */
  readonly windowSamples: number;
  /** Mel frames of a whole window. */
  readonly windowFrames: number;
}

export interface WindowSegment {
  /** Seconds from the start of the window. */
  readonly start: number;
  readonly end: number;
  readonly text: string;
  /** Timestamp tokens included. */
  readonly tokens: readonly number[];
}

export interface WindowWord {
  /** Without the blank before it, once the word is finished. */
  readonly word: string;
  /** Seconds from the start of the window. */
  readonly start: number;
  readonly end: number;
}

/** In ms since the window arrived. */
interface WindowTimings {
  readonly encodedAt: number;
  readonly startedAt: number;
  readonly decodedAt: number;
  /** Of the turns that it was part of, its share, ms. */
  readonly deviceMs: number;
}

/** A segment of a window is complete while the decoder continues. */
export interface SegmentMessage {
  readonly type: 'segment';
  readonly sample: SampleId;
  readonly segment: WindowSegment;
  /** The window may still be decoded again at a higher temperature, or be found silent; the text then changes. */
  readonly provisional: boolean;
}

/** What the decoder did since the last such message; sent a few times a second. */
export interface DecoderProgressMessage {
  readonly type: 'decoder-progress';
  readonly lane: string;
  /** Decoder calls, the tokens they wrote, and how long they took. */
  readonly calls: number;
  readonly tokens: number;
  readonly ms: number;
  readonly samples: readonly { readonly id: SampleId; readonly tokens: number }[];
}

/** A window is done. */
export interface TranscribedMessage {
  readonly type: 'transcribed';
  readonly sample: SampleId;
  /** Empty when there is no speech. */
  readonly segments: readonly WindowSegment[];
  /** Present if the request has `timestamps: 'word'`. */
  readonly words?: readonly WindowWord[];
  /** All tokens of the segments. */
  readonly tokens: readonly number[];
  /** What a window after this one gets as `previousTokens`, with an empty `prompt`. */
  readonly nextContext: readonly number[];
  readonly language: string;
  /** Frames from this window's start to the start of the next. */
  readonly advanceFrames: number;
  readonly temperature: number;
  readonly avgLogProbability: number;
  readonly compressionRatio: number;
  readonly noSpeechProbability: number;
  /** Mean number of windows that shared this one's decoder calls, itself included. */
  readonly batchSize: number;
  readonly timings: WindowTimings;
}

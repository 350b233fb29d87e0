/** The messages of protocol.ts that concern windows of audio. */
import type { SampleId } from './protocol.ts';

/** One window of one file. The worker decides where each window begins; the engine sees one window at a time. */
export interface WhisperSample {
  readonly id: SampleId;
  readonly task: 'whisper';
  readonly model: string;
  /** The group's queue name; windows of one lane share batches. */
  readonly lane: string;
  /** `[melBins, windowFrames]`, row-major: what the model's FrontEnd describes, padded to a whole window. */
  readonly mel: Float32Array;
  /** Frames of it that hold sound; the rest is padding. */
  readonly contentFrames: number;
  /** Whisper's code; null has it detected. */
  readonly language: string | null;
  readonly translate: boolean;
  /** Text that might have come before, in the caller's words; may be empty. */
  readonly prompt: string;
  /**
   * Tokens of earlier windows of the same file, which come after `prompt`; the decoder keeps the end of both. A model whose
   * generation_config.json says `condition_on_prev_tokens: false` is not told them.
   */
  readonly previousTokens: readonly number[];
  readonly temperature: number;
  /** Decode again at higher temperatures what came out badly. */
  readonly fallback: boolean;
  /** For the temperatures above 0. */
  readonly seed: number;
  readonly timestamps: 'none' | 'segment' | 'word';
  /** Tokens it may write at most; absent: half of the decoder's context, as openai's. */
  readonly maxTokens?: number;
  /** The most windows that may be in its lane at once, this one included. Reduced for a job that was in a batch that crashed. */
  readonly maxBatchMates: number;
}

/** What turns a waveform into a model's log-mel windows. */
export interface FrontEnd {
  /** Samples a second of the waveform. */
  readonly sampleRate: 16_000;
  readonly melBins: number;
  readonly fftSize: 400;
  /** Samples from one frame to the next. */
  readonly hopLength: number;
  readonly windowSamples: number;
  readonly windowFrames: number;
}

/** What the worker must know of an open Whisper model. */
export interface WhisperAbilities {
  readonly frontEnd: FrontEnd;
  /** Language codes it accepts; null for an English-only model. */
  readonly languages: readonly string[] | null;
  /** Whether it can time words. */
  readonly timesWords: boolean;
}

export interface WindowSegment {
  /** Seconds from the start of the window. */
  readonly start: number;
  readonly end: number;
  readonly text: string;
  /** Timestamps included. */
  readonly tokens: readonly number[];
}

export interface WindowWord {
  /** As spoken text writes it, without the blank before it. */
  readonly word: string;
  readonly start: number;
  readonly end: number;
}

export interface WindowTimings {
  /** All in ms of the engine's monotonic clock since the window arrived. */
  readonly encodedAt: number;
  readonly startedAt: number;
  readonly decodedAt: number;
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
  /** Where words were asked for. */
  readonly words?: readonly WindowWord[];
  /** All tokens of the segments; the next window gets them as `previousTokens`. */
  readonly tokens: readonly number[];
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

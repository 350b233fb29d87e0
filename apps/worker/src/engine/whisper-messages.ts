/** The part of the protocol that speaks of windows of audio; protocol.ts has the rest. A log-mel window travels as floats. */
import type { SampleId } from './protocol.ts';

/** One window of one file. The intake goes from window to window; the engine knows only this one. */
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

/** What the intake must know of an open Whisper model. */
export interface WhisperAbilities {
  readonly frontEnd: FrontEnd;
  /** Codes it can be asked for; null for an English-only model. */
  readonly languages: readonly string[] | null;
  /** Whether it can time words. */
  readonly timesWords: boolean;
}

export interface HeardSegment {
  /** Seconds from the start of the window. */
  readonly start: number;
  readonly end: number;
  readonly text: string;
  /** Timestamps included. */
  readonly tokens: readonly number[];
}

export interface HeardWord {
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

/** A window's segment ended while the decoder goes on. */
export interface HeardMessage {
  readonly type: 'heard';
  readonly sample: SampleId;
  readonly segment: HeardSegment;
  /** The window may still turn out badly, or silent, and be written anew: the text is then not this. */
  readonly provisional: boolean;
}

/** How far the windows in a decoder batch are; sent a few times a second. */
export interface WroteMessage {
  readonly type: 'wrote';
  readonly lane: string;
  /** Decoder calls since the last such message, the tokens they wrote, and how long they took. */
  readonly calls: number;
  readonly tokens: number;
  readonly ms: number;
  readonly samples: readonly { readonly id: SampleId; readonly tokens: number }[];
}

/** A window is over. */
export interface TranscribedMessage {
  readonly type: 'transcribed';
  readonly sample: SampleId;
  /** Empty when nobody speaks. */
  readonly segments: readonly HeardSegment[];
  /** Where words were asked for. */
  readonly words?: readonly HeardWord[];
  /** All tokens of the segments: what the next window is told in `previousTokens`. */
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

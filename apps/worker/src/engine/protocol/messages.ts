/**
 * The messages between the worker and its engine process: tagged unions, sent with the structured-clone serialization of
 * Node's IPC channel. messages.test.ts snapshots one message of each type, so a change of the wire shows in review. No
 * message carries a tensor: pixels and checkpoints travel as bytes, a log-mel window as floats.
 */
import type { PlainError, Tuned } from '@lehr/shared';
import type { GraphReport, Provider } from '../runtime/runtime.ts';
import type { LatencyModel } from '../runtime/simulated.ts';
import type { EngineSample, SampleId } from './samples.ts';
import type {
  DecoderProgressMessage,
  FrontEnd,
  SegmentMessage,
  TranscribedMessage,
} from './speech-messages.ts';
import type { AnsweredMessage, TextAbilities, TextProgressMessage } from './text-messages.ts';
import type {
  TransformAbilities,
  TransformedMessage,
  TransformInput,
  TransformProgressMessage,
  TransformResultKind,
} from './transform-messages.ts';

export type * from './samples.ts';
export type * from './speech-messages.ts';
export type * from './text-messages.ts';
export type * from './transform-messages.ts';
export type { GraphReport };

interface FolderToOpen {
  /** `name@version`. */
  readonly ref: string;
  readonly folder: string;
  /** How to run it, by the first device of the engine (lanes/model-lanes.ts). */
  readonly tuned?: Tuned;
}

export interface DiffusionToOpen extends FolderToOpen {
  readonly task: 'diffusion';
  /** Picture size of the warm-up and its measurements, in pixels. */
  readonly warmUp: { readonly width: number; readonly height: number };
  /** Files of LoRAs that pictures may use. */
  readonly adapters?: readonly { readonly name: string; readonly path: string }[];
  /** Folders of ControlNets that pictures may use. */
  readonly controls?: readonly { readonly name: string; readonly folder: string }[];
}

export interface WhisperToOpen extends FolderToOpen {
  readonly task: 'whisper';
  /** Which of several exports in the folder: the suffix of its graph files, such as `_quantized`. */
  readonly variant?: string;
}

export interface TextToOpen extends FolderToOpen {
  readonly task: 'text';
  /** As of a Whisper model. */
  readonly variant?: string;
}

export interface TransformToOpen extends FolderToOpen {
  readonly task: 'transform';
  /** As of a Whisper model. */
  readonly variant?: string;
  readonly result: TransformResultKind;
  /** Of a model whose result is a picture; 1 when absent. */
  readonly scale?: number;
  readonly input?: TransformInput;
  /** Those of the folder when absent. */
  readonly labels?: readonly string[];
}

export type ModelToOpen = DiffusionToOpen | WhisperToOpen | TextToOpen | TransformToOpen;

export interface OpenedModel {
  readonly ref: string;
  /**
   * `step`: each row of a batch is at its own step or token. `aligned`: only samples with equal steps, sampler and guidance
   * share a batch, or windows with equally many tokens.
   */
  readonly batching: 'step' | 'aligned';
  /** Why the batching is `aligned`. */
  readonly reason?: string;
  readonly graphs: readonly GraphReport[];
  /** How long loading and warming up its graphs took; set by the engine process. */
  readonly openMs?: number;
  /** The part of it that the warm-up took. */
  readonly warmUpMs?: number;
  /** By how much the memory of the engine process grew while it was opened, without that of a GPU; set by the engine process. */
  readonly grownBytes?: number;
  /** Milliseconds of one step by row count, measured at warm-up. */
  readonly stepMs: readonly (readonly [rows: number, ms: number])[];
  /** The row cap that follows from `stepMs`; lanes of other shapes start from it too. */
  readonly rowCap: number;
  /** Set for a diffusion model: the most tokens of a prompt, start and end of text included. */
  readonly maxPromptTokens?: number;
  /** Of a diffusion model: those of `DiffusionToOpen`, each with the reason where it cannot be used. The model serves without it. */
  readonly adapters?: readonly OpenedPart[];
  readonly controls?: readonly OpenedPart[];
  /** Set for a Whisper model. */
  readonly whisper?: WhisperAbilities;
  /** Set for a text model. */
  readonly text?: TextAbilities;
  /** Set for a model that transforms pictures. */
  readonly transform?: TransformAbilities;
}

/** An adapter or a ControlNet of an open model. */
export interface OpenedPart {
  readonly name: string;
  /** A sentence. */
  readonly problem?: string;
  /** What of its file fits nowhere in the model: names of tensors or modules, at most ten. */
  readonly unused?: readonly string[];
}

/** A model that could not be opened. The others serve without it. */
export interface UnavailableModel {
  /** `name@version`. */
  readonly ref: string;
  readonly failure: PlainError;
}

/** What the worker must know of an open Whisper model. */
export interface WhisperAbilities {
  readonly frontEnd: FrontEnd;
  /** Language codes it accepts; null for an English-only model. */
  readonly languages: readonly string[] | null;
  /** Whether it can time words. */
  readonly timesWords: boolean;
}

export interface EngineSettings {
  readonly providers: readonly Provider[];
  /** Use a simulated device with these durations in place of ONNX Runtime; for benchmarks and queue tests. */
  readonly simulated?: LatencyModel;
  readonly threads?: number;
  /** The most rows of one step; `auto` measures the device (row-cap.ts). */
  readonly rowCap: number | 'auto';
  /** When pictures are checkpointed; never, when absent. */
  readonly checkpoints?: CheckpointSettings;
}

export interface CheckpointSettings {
  /** A checkpoint is due after this many steps of a picture. */
  readonly everySteps: number;
  /** It is also due after this time, when steps are slow. */
  readonly everyMs: number;
  /** Limits all checkpoints of this engine together. One that is above the limit is made at a later step. */
  readonly bytesPerS: number;
}

export type ToEngine =
  | {
      readonly type: 'open';
      readonly settings: EngineSettings;
      readonly models: readonly ModelToOpen[];
      /** Whether to go on when none of the models can be opened: others may be opened later. */
      readonly mayBeEmpty?: boolean | undefined;
    }
  /** Opens a model that could not be opened before, or that models.yaml names since. */
  | { readonly type: 'open-model'; readonly model: ModelToOpen }
  /** Closes a model (`name@version`) that has no sample left. */
  | { readonly type: 'close-model'; readonly ref: string }
  /** Samples that may start together, such as all pictures of a job. */
  | { readonly type: 'submit'; readonly samples: readonly EngineSample[] }
  | { readonly type: 'cancel'; readonly sample: SampleId }
  /** As `cancel`; before `canceled` comes a checkpoint of the sample's last step, if it made one. */
  | { readonly type: 'suspend'; readonly sample: SampleId }
  /** Asks for one preview of this sample after its next step; ignored when the sample has no step left. */
  | { readonly type: 'preview'; readonly sample: SampleId }
  | { readonly type: 'close' };

export interface SampleCheckpoint {
  readonly id: SampleId;
  /** Steps made. */
  readonly step: number;
  /** The format is known to engines only (diffusion/checkpoint.ts). */
  readonly bytes: Uint8Array;
}

/** A prompt that was cut at its end. Both counts include start and end of text. */
export interface PromptCut {
  /** Tokens that the text encoder read. */
  readonly read: number;
  /** Tokens of the whole prompt; absent of one that is too long to be counted. */
  readonly tokens?: number;
}

/** The texts of a picture that were cut. */
export interface PromptCuts {
  readonly prompt?: PromptCut;
  readonly negativePrompt?: PromptCut;
}

/** A prompt with emphasis, of which all is read. */
export interface PromptSize {
  /** Without start and end of text. */
  readonly tokens: number;
  /** Pieces in which the text encoder read it. */
  readonly chunks: number;
}

/** The texts of a picture that were read in chunks. */
export interface PromptSizes {
  readonly prompt?: PromptSize;
  readonly negativePrompt?: PromptSize;
}

export interface SampleTimings {
  /** How long its prompts took to encode. */
  readonly textMs: number;
  /** When its first step began, its last step ended, and its picture was decoded: ms since the sample arrived. */
  readonly startedAt: number;
  readonly denoisedAt: number;
  readonly decodedAt: number;
  /** How long decoding took, without the steps of lanes between its pieces. */
  readonly decodeMs: number;
  /** Of the turns that it was part of, the share of its rows, ms. Absent when it continued from a checkpoint. */
  readonly deviceMs?: number;
}

export type FromEngine =
  /** At least one model is open. */
  | {
      readonly type: 'ready';
      readonly models: readonly OpenedModel[];
      readonly unavailable: readonly UnavailableModel[];
    }
  /** The answers to `open-model`. */
  | { readonly type: 'model-opened'; readonly model: OpenedModel }
  | ({ readonly type: 'model-unavailable' } & UnavailableModel)
  /** The answer to `close-model`: by how much the memory of the engine process shrank, without that of a GPU. */
  | { readonly type: 'model-closed'; readonly ref: string; readonly freedBytes: number }
  | { readonly type: 'open-failed'; readonly failure: PlainError }
  /** The row cap of a lane: sent when it is first known and whenever a measurement changes it. */
  | { readonly type: 'row-cap'; readonly lane: string; readonly rows: number }
  /** The engine now works on these samples. If it dies before the next such message, one of them is the cause. */
  | { readonly type: 'running'; readonly samples: readonly SampleId[] }
  /** The sample's last step begins: its rows are free for another sample at the next step. */
  | { readonly type: 'last-step'; readonly sample: SampleId }
  /** The sample begins its second pass, and has its rows in this lane from now on. */
  | { readonly type: 'lane-changed'; readonly sample: SampleId; readonly lane: string }
  /** A lane has finished one step. */
  | {
      readonly type: 'stepped';
      readonly lane: string;
      readonly rows: number;
      /** The row cap that the step began with; the step may have changed it. */
      readonly cap: number;
      readonly ms: number;
      /** The part of it outside of the graph; absent for a step that had to be split. */
      readonly hostMs?: number;
      readonly samples: readonly { readonly id: SampleId; readonly step: number; readonly steps: number }[];
    }
  /** The newest states of unfinished pictures. */
  | { readonly type: 'checkpoints'; readonly samples: readonly SampleCheckpoint[] }
  /** The noise thread cannot start, or has died: the engine's own thread draws all noise from now on. Sent at most once. */
  | { readonly type: 'noise-thread-lost'; readonly failure: PlainError }
  /** A submitted checkpoint was used: the picture continues after this step. */
  | { readonly type: 'resumed'; readonly sample: SampleId; readonly step: number }
  /** A submitted checkpoint cannot be used; the picture starts at its first step. */
  | { readonly type: 'checkpoint-ignored'; readonly sample: SampleId; readonly reason: string }
  /** The answer to `preview`: a thumbnail of the picture as predicted from the step just made. */
  | {
      readonly type: 'preview';
      readonly sample: SampleId;
      readonly step: number;
      /** RGB, 8 bits, row-major, height x width x 3; at most 64 x 64. */
      readonly pixels: Uint8Array;
      readonly width: number;
      readonly height: number;
    }
  | {
      readonly type: 'finished';
      readonly sample: SampleId;
      /** RGB, 8 bits, row-major, height x width x 3. */
      readonly pixels: Uint8Array;
      readonly width: number;
      readonly height: number;
      /** Of a sample that stopped early: its latent as a file. */
      readonly latent?: Uint8Array;
      /** Mean number of samples that shared this sample's steps, itself included. */
      readonly batchSize: number;
      /** The texts of the sample that the text encoder did not read whole. */
      readonly cuts: PromptCuts;
      /** Of its texts with emphasis. */
      readonly sizes: PromptSizes;
      readonly timings: SampleTimings;
    }
  | SegmentMessage
  | DecoderProgressMessage
  | TranscribedMessage
  | AnsweredMessage
  | TextProgressMessage
  | TransformedMessage
  | TransformProgressMessage
  | { readonly type: 'failed'; readonly sample: SampleId; readonly failure: PlainError }
  /** A cancel took effect; no further message names this sample. */
  | { readonly type: 'canceled'; readonly sample: SampleId };

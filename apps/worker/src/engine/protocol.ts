/**
 * The messages between the worker and its engine process: tagged unions, sent with the structured-clone serialization of
 * Node's IPC channel. protocol.test.ts snapshots one message of each type, so a change of the wire shows in review. No
 * message carries a tensor: pixels travel as bytes, a log-mel window as floats.
 */
import type { PlainError, SamplerName } from '@lehr/shared';
import type { Placement, Provider } from '../runtime/runtime.ts';
import type { LatencyModel } from '../runtime/simulated.ts';
import type {
  DecoderProgressMessage,
  SegmentMessage,
  TranscribedMessage,
  WhisperAbilities,
  WhisperSample,
} from './whisper-messages.ts';

export type * from './whisper-messages.ts';

declare const brand: unique symbol;
/** One sample of one attempt of a job. Never reused, so that a late message cannot be taken for another attempt. */
export type SampleId = string & { readonly [brand]: 'SampleId' };

interface FolderToOpen {
  /** `name@version`. */
  readonly ref: string;
  readonly folder: string;
}

export interface DiffusionToOpen extends FolderToOpen {
  readonly task: 'diffusion';
  /** The shape that is warmed up, and measured, before the engine says ready. Pixels. */
  readonly warmUp: { readonly width: number; readonly height: number };
}

export interface WhisperToOpen extends FolderToOpen {
  readonly task: 'whisper';
  /** Which of several exports in the folder: the ending of its graphs' names, as `_quantized`. */
  readonly variant?: string;
}

export type ModelToOpen = DiffusionToOpen | WhisperToOpen;

/** Which graph runs where, as the runtime reported it after loading and running it. */
export interface GraphReport {
  readonly graph: string;
  readonly provider: Provider | 'simulated';
  /** Nodes by provider, on a GPU: some may have stayed on the CPU. */
  readonly placement?: Placement;
  /** Why the providers before it in the list did not take the graph. */
  readonly refusals?: readonly string[];
}

export interface OpenedModel {
  readonly ref: string;
  /**
   * `step`: every row is at its own step, or its own token. `aligned`: only samples of equal steps, sampler and guidance
   * share a batch, or windows that have written equally much.
   */
  readonly batching: 'step' | 'aligned';
  /** Why it is aligned. */
  readonly reason?: string;
  readonly graphs: readonly GraphReport[];
  /** Measured at warm-up: milliseconds of one step by row count. */
  readonly stepMs: readonly (readonly [rows: number, ms: number])[];
  /** The row cap that follows from it; a lane of another shape starts from this one. */
  readonly rowCap: number;
  /** Set for a Whisper model. */
  readonly whisper?: WhisperAbilities;
}

export interface DiffusionSample {
  readonly id: SampleId;
  readonly task: 'diffusion';
  readonly model: string;
  /** The group's queue name; samples of one lane share batches. */
  readonly lane: string;
  readonly prompt: string;
  readonly negativePrompt: string;
  readonly width: number;
  readonly height: number;
  readonly steps: number;
  readonly guidance: number;
  readonly seed: number;
  readonly sampler: SamplerName;
  /** The most samples that may be in its lane at once, this one included. Reduced for a job that was in a batch that crashed. */
  readonly maxBatchMates: number;
}

/** One unit of work in flight: a picture, or a window of audio. */
export type EngineSample = DiffusionSample | WhisperSample;

export interface EngineSettings {
  readonly providers: readonly Provider[];
  /** A device that only takes its time instead of running graphs; for benchmarks and queue tests. */
  readonly simulated?: LatencyModel;
  readonly threads?: number;
  /** Rows of one step at most, however well the device scales; `auto` measures the knee. */
  readonly rowCap: number | 'auto';
}

export type ToEngine =
  | { readonly type: 'open'; readonly settings: EngineSettings; readonly models: readonly ModelToOpen[] }
  /** Samples that may start together: all pictures of a job. */
  | { readonly type: 'submit'; readonly samples: readonly EngineSample[] }
  | { readonly type: 'cancel'; readonly sample: SampleId }
  /** Asks for one preview of this sample after its next step; ignored when the sample has no step left. */
  | { readonly type: 'preview'; readonly sample: SampleId }
  | { readonly type: 'close' };

export interface SampleTimings {
  /** All in ms of the engine's monotonic clock since the sample arrived. */
  readonly textMs: number;
  /** When its first step began, its last ended, and its picture was decoded. */
  readonly startedAt: number;
  readonly denoisedAt: number;
  readonly decodedAt: number;
}

export type FromEngine =
  | { readonly type: 'ready'; readonly models: readonly OpenedModel[] }
  | { readonly type: 'open-failed'; readonly failure: PlainError }
  /** The row cap of a lane: sent when it is first known and whenever a measurement changes it. */
  | { readonly type: 'row-cap'; readonly lane: string; readonly rows: number }
  /** The engine now works on these samples. If it dies before the next such message, one of them is the cause. */
  | { readonly type: 'running'; readonly samples: readonly SampleId[] }
  /** The sample's last step begins: its rows are free for another sample at the next step. */
  | { readonly type: 'last-step'; readonly sample: SampleId }
  /** A lane has finished one step. */
  | {
      readonly type: 'stepped';
      readonly lane: string;
      readonly rows: number;
      readonly ms: number;
      readonly samples: readonly { readonly id: SampleId; readonly step: number; readonly steps: number }[];
    }
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
      /** Mean number of samples that shared this sample's steps, itself included. */
      readonly batchSize: number;
      readonly timings: SampleTimings;
    }
  | SegmentMessage
  | DecoderProgressMessage
  | TranscribedMessage
  | { readonly type: 'failed'; readonly sample: SampleId; readonly failure: PlainError }
  /** A cancel took effect; no further message names this sample. */
  | { readonly type: 'canceled'; readonly sample: SampleId };

/** What the worker submits to its engine: one picture to draw or to transform, one window of audio, or the texts of a job. */
import type { PriorityClass, PromptSyntax, SamplerName, TextItem } from '@lehr/shared';

declare const brand: unique symbol;
/** One sample of one attempt of a job. Never reused, so that a late message cannot be taken for another attempt. */
export type SampleId = string & { readonly [brand]: 'SampleId' };

interface SampleBase {
  readonly id: SampleId;
  /** `name@version`. */
  readonly model: string;
  /** The group's queue name; samples of one lane share batches. */
  readonly lane: string;
  /** That of its job, standard when absent. Bulk samples pause while others have work. */
  readonly priority?: PriorityClass;
  /**
   * The most samples that may be in one step or run with it, itself included; for speech, in its lane. Reduced for a job that was in a
   * batch that crashed.
   */
  readonly maxBatchMates: number;
}

export interface DiffusionSample extends SampleBase {
  readonly task: 'diffusion';
  readonly prompt: string;
  readonly negativePrompt: string;
  /** How both are read; plain when absent. */
  readonly promptSyntax?: PromptSyntax;
  /** The layer of the text encoder, counted from its last one, which is 1; that of the model's family when absent. */
  readonly clipSkip?: number;
  readonly width: number;
  readonly height: number;
  readonly steps: number;
  readonly guidance: number;
  readonly seed: number;
  readonly sampler: SamplerName;
  /** The picture that it begins at: RGB, 8 bits, row-major, height x width x 3. */
  readonly image?: Uint8Array;
  /** With `image`: what of it is changed, `[height, width]`: 255 is drawn, 0 kept as it is, and a value between them is a weight. */
  readonly mask?: Uint8Array;
  /** With `mask` and a strength below 1: begins at noise there, not at the picture. */
  readonly noiseUnderMask?: boolean;
  /**
   * In place of `image`: the file of a latent that another run has left (diffusion/latent-file.ts). With a mask it is also what is kept, unless
   * `image` is there, too.
   */
  readonly latent?: Uint8Array;
  /** Beside `image` and `mask`: the picture that the drawing begins at, while `image` is what is kept. */
  readonly begun?: Uint8Array;
  /** With `image` or `latent`: the share of the steps that are made, above 0 and at most 1. */
  readonly strength?: number;
  /** In place of `strength`: where in the schedule it begins, from 0 (noise) to 1. What it begins at has its noise then. */
  readonly denoisingStart?: number;
  /** Where in the schedule it stops; its latent is then a result, too. */
  readonly denoisingEnd?: number;
  /** A second pass, for which it goes on in another lane; one sample with this one, as far as its messages say. */
  readonly hires?: SecondPass;
  /** Adapters of its model and how strongly each acts on this picture; the others do not. */
  readonly adapters?: readonly AdapterUse[];
  /** Pictures that guide the drawing through ControlNets of its model. */
  readonly controls?: readonly ControlUse[];
  /** The newest checkpoint of this picture, made by this engine or another one: it continues there. */
  readonly checkpoint?: Uint8Array;
  /** Whether a checkpoint is made after its last step too: other pictures of its job still run. */
  readonly checkpointAtEnd?: boolean;
  /** For a family with sizes as conditions; height or top first. The picture's own size and no crop when absent. */
  readonly originalSize?: readonly [number, number] | undefined;
  readonly cropsTopLeft?: readonly [number, number] | undefined;
  readonly targetSize?: readonly [number, number] | undefined;
}

interface AdapterUse {
  /** As models.yaml names it. */
  readonly name: string;
  /** Factor of what it adds; 1 is as it was trained, 0 nothing. */
  readonly scale: number;
}

export interface ControlUse {
  /** As models.yaml names it. */
  readonly name: string;
  /** RGB, 8 bits, row-major, height x width x 3, of the size of the sample; a second pass enlarges it. */
  readonly pixels: Uint8Array;
  /** Factor of what it adds. */
  readonly scale: number;
  /** Shares of the steps: it acts from `start` up to `end`, as `control_guidance_start` and `_end` of diffusers. */
  readonly start: number;
  readonly end: number;
  /** `name@version` of an open model with result picture or mask, which makes the control picture out of `pixels`; absent where they are it. */
  readonly preprocess?: string;
}

export interface SecondPass {
  readonly lane: string;
  readonly width: number;
  readonly height: number;
  readonly steps: number;
  readonly strength: number;
  /** `latent`, `lanczos`, or the `name@version` of an open model that enlarges pictures. */
  readonly upscaler: string;
  /** Of a sample with a mask: its picture and its mask at the size of this pass. */
  readonly kept?: { readonly image: Uint8Array; readonly mask: Uint8Array };
}

/** One window of one file. The worker decides where each window begins; the engine sees one window at a time. */
export interface WhisperSample extends SampleBase {
  readonly task: 'whisper';
  /** `[melBins, windowFrames]`, row-major: what the model's FrontEnd describes, padded to a whole window. */
  readonly mel: Float32Array;
  /** Frames of `mel` that hold sound; the rest is padding. */
  readonly contentFrames: number;
  /** Whisper's code; null to detect the language. */
  readonly language: string | null;
  readonly translate: boolean;
  /** The caller's text before the window; may be empty. */
  readonly prompt: string;
  /** `nextContext` of the window before it in the same file; they follow `prompt`, and the decoder keeps the end of both. */
  readonly previousTokens: readonly number[];
  readonly temperature: number;
  /** Whether a bad text is decoded again at higher temperatures. */
  readonly fallback: boolean;
  /** For temperatures above 0. */
  readonly seed: number;
  readonly timestamps: 'none' | 'segment' | 'word';
  /** The most tokens to write; when absent, half of the decoder's context, as in openai's code. */
  readonly maxTokens?: number;
}

export interface ClassifyOptions {
  /** How many labels, best first; null for all. */
  readonly topK: number | null;
  /** null: as the model's config says. */
  readonly function: 'softmax' | 'sigmoid' | 'none' | null;
}

export interface EntityOptions {
  readonly aggregation: 'none' | 'simple' | 'first' | 'average' | 'max';
  readonly ignoreLabels: readonly string[];
}

/** What is wanted of each text of a job. */
export type TextWork =
  | {
      readonly type: 'text-embedding';
      readonly normalize: boolean | null;
      readonly dimensions: number | null;
    }
  | ({ readonly type: 'text-classification' } & ClassifyOptions)
  | { readonly type: 'fill-mask'; readonly topK: number }
  | ({ readonly type: 'token-classification' } & EntityOptions);

/** All texts of a job: the engine makes runs of them, together with texts of other jobs. */
export interface TextSample extends SampleBase {
  readonly task: 'text';
  readonly texts: readonly TextItem[];
  /** Whether texts that are too long are cut. */
  readonly mayTruncate: boolean;
  readonly work: TextWork;
}

/** A picture for a graph that makes another picture, a mask or a class of it. */
export interface TransformSample extends SampleBase {
  readonly task: 'transform';
  /** RGB, 8 bits, row-major, height x width x 3. */
  readonly pixels: Uint8Array;
  readonly width: number;
  readonly height: number;
  /** How many labels, of a model whose result is a class. */
  readonly topK: number;
}

export type EngineSample = DiffusionSample | WhisperSample | TextSample | TransformSample;

/** The messages of models that take a picture and give a picture, a mask or a class, between the worker and its engine. */
import type { SampleId } from './samples.ts';

export type TransformResultKind = 'picture' | 'mask' | 'class';

/** What the worker must know of an open model of this task. */
export interface TransformAbilities {
  readonly result: TransformResultKind;
  /** How many times as wide and high a picture becomes; 1 for all others. */
  readonly scale: number;
  /** Pixels of the side of a tile, of models that take a picture in tiles. Each tile is a row. */
  readonly tile?: number;
  /** Of a model whose result is a class. */
  readonly labels?: readonly string[];
}

/** What the graph takes, as models.yaml states it; what is absent is read from the folder. */
export interface TransformInput {
  /** Pixels to which a picture is resized, where it is not cut into tiles; for those, the size of a tile. */
  readonly width?: number | undefined;
  readonly height?: number | undefined;
  /** Sides of what the graph takes are multiples of this. */
  readonly multiple?: number | undefined;
  /** What a pixel of 0 to 255 is multiplied by, before the mean is subtracted. */
  readonly rescale?: number | undefined;
  readonly mean?: readonly number[] | undefined;
  readonly std?: readonly number[] | undefined;
  readonly channels?: 'rgb' | 'bgr' | 'grey' | undefined;
}

export type TransformResult =
  | {
      readonly kind: 'picture';
      /** RGB, 8 bits, row-major, height x width x 3. */
      readonly pixels: Uint8Array;
      readonly width: number;
      readonly height: number;
    }
  | {
      readonly kind: 'mask';
      /** `[height, width]`, of the size of the picture. */
      readonly values: Uint8Array;
      readonly width: number;
      readonly height: number;
    }
  | {
      readonly kind: 'class';
      /** Best first. */
      readonly labels: readonly { readonly label: string; readonly score: number }[];
    };

/** All tiles of a sample are done. */
export interface TransformedMessage {
  readonly type: 'transformed';
  readonly sample: SampleId;
  readonly result: TransformResult;
  /** How many rows of runs it took. */
  readonly tiles: number;
  /** Mean number of samples in the runs of its tiles, itself included. */
  readonly batchSize: number;
  readonly timings: {
    /** When its first run began and its result was ready: ms since the sample arrived. */
    readonly startedAt: number;
    readonly endedAt: number;
    /** Of the runs of its tiles, the share of these tiles, ms. */
    readonly deviceMs: number;
  };
}

/** What the runs of a lane did since the last such message; sent a few times a second, and when the lane becomes idle. */
export interface TransformProgressMessage {
  readonly type: 'transform-progress';
  readonly lane: string;
  readonly runs: number;
  /** Rows of the runs, with those that only fill a run up to a size that the device is tuned for. */
  readonly rows: number;
  readonly tiles: number;
  /** Duration of the runs together. */
  readonly ms: number;
  /** Samples that have not ended, and how many of their tiles are done. */
  readonly samples: readonly { readonly id: SampleId; readonly done: number; readonly of: number }[];
}

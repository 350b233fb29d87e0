/** The settings that the three graphs and the files around them share. */
import type { FloatType } from '../graph-builder.ts';

export interface TinyDiffusionPlan {
  readonly seed: number;
  readonly dtype: FloatType;
  readonly opset: number;
  readonly timestepType: 'int64' | 'float32' | 'float16';
  /** `[]` for a scalar, `['steps']` or `[1]` as in older exports. */
  readonly timestepDims: readonly (number | string)[];
  readonly castTimestepFirst: boolean;
  readonly tokenIdType: 'int64' | 'int32';
  readonly latentChannels: number;
  /** Height and width of a latent at the model's native size. */
  readonly sampleSize: number;
  readonly embeddingDim: number;
  readonly tokens: number;
  readonly vocabularySize: number;
  readonly scalingFactor: number;
  readonly externalDataFile: string | undefined;
}

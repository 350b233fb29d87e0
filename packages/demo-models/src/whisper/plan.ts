/** What the graphs of a Whisper folder and the files around them must agree on. */
import type { FloatType } from '../graph-builder.ts';

/** How a decoder was traced; the two differ in how they count positions, mask the future and shape the heads. */
export type ExporterStyle = 'transformers-4.33' | 'transformers-4.48';

export interface TinyWhisperPlan {
  readonly seed: number;
  readonly dtype: FloatType;
  readonly opset: number;
  readonly style: ExporterStyle;
  readonly crossAttentions: boolean;
  readonly externalData: boolean;
  readonly melBins: number;
  /** Seconds of audio in a window. */
  readonly chunkSeconds: number;
  readonly width: number;
  readonly heads: number;
  readonly encoderLayers: number;
  readonly decoderLayers: number;
  readonly feedForward: number;
  /** Audio positions of a window, half its mel frames. */
  readonly sourcePositions: number;
  /** Tokens at most, the prompt's included. */
  readonly targetPositions: number;
  readonly vocabularySize: number;
  readonly endToken: number;
  /** After about so many tokens the decoder wants to end; undefined for when chance has it. */
  readonly endsNear: number | undefined;
}

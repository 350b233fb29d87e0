/** The settings that the graphs of a Whisper folder and the files around them share. */
import type { FloatType } from '../graph-builder.ts';

/** The exporter that a decoder imitates. The two differ in positions, causal mask and shape of the heads. */
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
  /** The most tokens of a text, prompt included. */
  readonly targetPositions: number;
  readonly vocabularySize: number;
  readonly endToken: number;
  /** Texts end after about this many tokens; when undefined, after a random number. */
  readonly endsNear: number | undefined;
}

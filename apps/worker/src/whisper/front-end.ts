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

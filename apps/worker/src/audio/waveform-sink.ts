import { LehrError } from '@lehr/shared';
import { WAVEFORM_RATE, type Waveform, WaveformWriter } from './waveform.ts';

/** Collects the samples of a waveform and counts them as they arrive. */
export class WaveformSink {
  readonly #maxDurationS: number;
  readonly #writer = new WaveformWriter();

  constructor(maxDurationS: number) {
    this.#maxDurationS = maxDurationS;
  }

  /**
   * Clips the samples in place: lossy decoders and resamplers overshoot 1, and Whisper was trained on 16-bit samples, which cannot.
   * Throws LehrError `too-large` as soon as the sound is longer than allowed, and `invalid-audio` for NaN.
   */
  write(samples: Float32Array): void {
    if (this.#writer.length + samples.length > this.#maxDurationS * WAVEFORM_RATE)
      throw tooLong(this.#maxDurationS);
    for (let i = 0; i < samples.length; i++) {
      const sample = samples[i];
      if (Number.isNaN(sample)) {
        throw new LehrError('invalid-audio', 'The file holds samples that are no numbers (NaN or infinite).');
      }
      samples[i] = Math.min(Math.max(sample, -1), 1);
    }
    this.#writer.append(samples);
  }

  /** Throws LehrError `invalid-audio` when there was no sound at all. */
  finish(): Waveform {
    if (this.#writer.length === 0)
      throw new LehrError('invalid-audio', 'The file holds no sound (0 samples).');
    return this.#writer.finish();
  }
}

export const tooLong = (maxDurationS: number): LehrError =>
  new LehrError('too-large', `The audio is longer than the ${maxDurationS} seconds allowed.`);

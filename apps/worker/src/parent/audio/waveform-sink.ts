import { LehrError } from '@lehr/shared';
import type { SourceSound } from './ffmpeg-report.ts';
import { WAVEFORM_RATE, type Waveform, WaveformWriter } from './waveform.ts';

/** Collects the samples of a waveform and counts them as they arrive. */
export class WaveformSink {
  readonly #maxDurationS: number;
  readonly #writer = new WaveformWriter();

  constructor(maxDurationS: number) {
    this.#maxDurationS = maxDurationS;
  }

  /**
   * Throws LehrError `too-large` as soon as the sound is longer than allowed, and `invalid-audio` for NaN.
   */
  write(samples: Float32Array): void {
    if (this.#writer.length + samples.length > this.#maxDurationS * WAVEFORM_RATE)
      throw tooLong(this.#maxDurationS);
    for (let i = 0; i < samples.length; i++) {
      if (Number.isNaN(samples[i])) {
        throw new LehrError('invalid-audio', 'The file holds samples that are no numbers (NaN or infinite).');
      }
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

/** `source` is given when it allows less than the model does; the message then names it. */
export function tooLong(maxDurationS: number, source?: SourceSound): LehrError {
  const seconds = `The audio is longer than the ${maxDurationS} seconds allowed`;
  if (!source) return new LehrError('too-large', `${seconds}.`);
  const { channels, sampleRate } = source;
  return new LehrError('too-large', `${seconds} for ${channels} channels at ${sampleRate} Hz.`);
}

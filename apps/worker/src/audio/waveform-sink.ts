import { LehrError } from '@lehr/shared';
import { checkShape, type PcmBlock, tooLong } from './pcm-block.ts';
import { Resampler } from './resample.ts';
import { WAVEFORM_RATE, type Waveform, WaveformWriter } from './waveform.ts';

/** Takes decoded sound of any shape, counts it as it comes, and keeps it as a 16 kHz mono waveform. */
export class WaveformSink {
  readonly #maxDurationS: number;
  readonly #writer = new WaveformWriter();
  #resampler: Resampler | undefined;
  #sampleRate = 0;
  #seconds = 0;

  constructor(maxDurationS: number) {
    this.#maxDurationS = maxDurationS;
  }

  /** Throws LehrError `too-large` as soon as the sound is longer than allowed, and `invalid-audio` for impossible sound. */
  write({ sampleRate, channels }: PcmBlock): void {
    checkShape(sampleRate, channels.length);
    this.#seconds += channels[0].length / sampleRate;
    if (this.#seconds > this.#maxDurationS) throw tooLong(this.#maxDurationS);
    // A chained or spliced file may go on at another rate.
    if (sampleRate !== this.#sampleRate) {
      this.#flush();
      this.#resampler = new Resampler(sampleRate, WAVEFORM_RATE);
      this.#sampleRate = sampleRate;
    }
    if (this.#resampler) this.#append(this.#resampler.push(downmix(channels)));
  }

  /** Throws LehrError `invalid-audio` when there was no sound at all. */
  finish(): Waveform {
    this.#flush();
    if (this.#writer.length === 0)
      throw new LehrError('invalid-audio', 'The file holds no sound (0 samples).');
    return this.#writer.finish();
  }

  #flush(): void {
    if (this.#resampler) this.#append(this.#resampler.flush());
  }

  /** Overshoots of lossy decoders and of the resampler are clipped, as they are in the 16 bits that Whisper learned from. */
  #append(samples: Float32Array): void {
    for (let i = 0; i < samples.length; i++) {
      const sample = samples[i];
      if (Number.isNaN(sample)) {
        throw new LehrError('invalid-audio', 'The file holds samples that are no numbers (NaN or infinite).');
      }
      samples[i] = Math.min(Math.max(sample, -1), 1);
    }
    this.#writer.append(samples);
  }
}

/** The mean of all channels: (L + R) / 2 for two. */
function downmix(channels: PcmBlock['channels']): Float32Array {
  if (channels.length === 1) return channels[0];
  const mono = new Float32Array(channels[0].length);
  for (const channel of channels) for (let i = 0; i < mono.length; i++) mono[i] += channel[i];
  const share = 1 / channels.length;
  for (let i = 0; i < mono.length; i++) mono[i] *= share;
  return mono;
}

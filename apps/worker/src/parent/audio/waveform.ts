/**
 * 16 kHz mono sound in memory that threads share, with 16 bits a sample, as Whisper was trained on. The worker's parent writes it once, while a file is decoded; then the parent and the
 * audio threads read it, and no copy is made between them.
 */
export interface Waveform {
  /** In samples of 16 kHz. */
  readonly length: number;
  /** 16-bit samples, BLOCK_SAMPLES in each but the last: growing copies nothing. */
  readonly blocks: readonly SharedArrayBuffer[];
}

export const WAVEFORM_RATE = 16_000;
const SAMPLE_BYTES = 2;
/** 16 s, 512 KiB. */
const BLOCK_SAMPLES = 1 << 18;
const FULL_SCALE = 0x8000;

/** The memory that a waveform of this many seconds takes while it is written. */
export const waveformBytes = (seconds: number): number =>
  Math.ceil((seconds * WAVEFORM_RATE) / BLOCK_SAMPLES) * BLOCK_SAMPLES * SAMPLE_BYTES;

/** The memory that a finished waveform takes. */
export const sizeOf = ({ length }: Waveform): number => length * SAMPLE_BYTES;

/** Samples of [start, end), from -1 up to 1, zeros where the waveform has none: a copy. */
export function readWaveform(waveform: Waveform, start: number, end: number): Float32Array {
  const out = new Float32Array(end - start);
  let at = Math.max(start, 0);
  const stop = Math.min(end, waveform.length);
  while (at < stop) {
    const offset = at % BLOCK_SAMPLES;
    const block = new Int16Array(waveform.blocks[Math.floor(at / BLOCK_SAMPLES)]);
    const part = block.subarray(offset, Math.min(offset + stop - at, block.length));
    for (let i = 0; i < part.length; i++) out[at - start + i] = part[i] / FULL_SCALE;
    at += part.length;
  }
  return out;
}

export class WaveformWriter {
  readonly #blocks: Int16Array<SharedArrayBuffer>[] = [];
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** Rounds to 16 bits and clips: lossy decoders and resamplers overshoot 1. */
  append(samples: Float32Array): void {
    for (let taken = 0; taken < samples.length; ) {
      const offset = this.#length % BLOCK_SAMPLES;
      if (offset === 0) {
        this.#blocks.push(new Int16Array(new SharedArrayBuffer(BLOCK_SAMPLES * SAMPLE_BYTES)));
      }
      const part = samples.subarray(taken, taken + BLOCK_SAMPLES - offset);
      const block = this.#blocks[this.#blocks.length - 1];
      for (let i = 0; i < part.length; i++) block[offset + i] = toInt16(part[i]);
      this.#length += part.length;
      taken += part.length;
    }
  }

  /** Nothing may be appended afterwards. */
  finish(): Waveform {
    const blocks = this.#blocks.map(({ buffer }) => buffer);
    const used = (this.#length % BLOCK_SAMPLES) * SAMPLE_BYTES;
    // Most uploads are a few seconds long: the rest of their block is freed.
    if (used > 0) blocks.push(blocks.splice(-1)[0].slice(0, used));
    return { length: this.#length, blocks };
  }
}

/** To the nearest step, as ffmpeg converts. */
const toInt16 = (sample: number): number =>
  Math.max(-FULL_SCALE, Math.min(FULL_SCALE - 1, Math.round(sample * FULL_SCALE)));

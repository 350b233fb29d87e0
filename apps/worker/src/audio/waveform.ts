/**
 * 16 kHz mono sound in memory that threads share. The worker's parent writes it once, while a file is decoded; then the parent and the
 * audio threads read it, and no copy is made between them.
 */
export interface Waveform {
  /** In samples of 16 kHz. */
  readonly length: number;
  /** Floats of -1 to 1, BLOCK_SAMPLES in each but the last: growing copies nothing. */
  readonly blocks: readonly SharedArrayBuffer[];
}

export const WAVEFORM_RATE = 16_000;
/** 16 s, 1 MiB. */
const BLOCK_SAMPLES = 1 << 18;

/** Samples of [start, end), zeros where the waveform has none: a copy. */
export function readWaveform(waveform: Waveform, start: number, end: number): Float32Array {
  const out = new Float32Array(end - start);
  let at = Math.max(start, 0);
  const stop = Math.min(end, waveform.length);
  while (at < stop) {
    const offset = at % BLOCK_SAMPLES;
    const block = new Float32Array(waveform.blocks[Math.floor(at / BLOCK_SAMPLES)]);
    const part = block.subarray(offset, Math.min(offset + stop - at, block.length));
    out.set(part, at - start);
    at += part.length;
  }
  return out;
}

export class WaveformWriter {
  readonly #blocks: Float32Array<SharedArrayBuffer>[] = [];
  #length = 0;

  get length(): number {
    return this.#length;
  }

  append(samples: Float32Array): void {
    for (let taken = 0; taken < samples.length; ) {
      const offset = this.#length % BLOCK_SAMPLES;
      if (offset === 0) {
        this.#blocks.push(new Float32Array(new SharedArrayBuffer(BLOCK_SAMPLES * 4)));
      }
      const part = samples.subarray(taken, taken + BLOCK_SAMPLES - offset);
      this.#blocks[this.#blocks.length - 1].set(part, offset);
      this.#length += part.length;
      taken += part.length;
    }
  }

  /** Nothing may be appended afterwards. */
  finish(): Waveform {
    const blocks = this.#blocks.map(({ buffer }) => buffer);
    const used = (this.#length % BLOCK_SAMPLES) * 4;
    // Most uploads are a few seconds long: the rest of their block is freed.
    if (used > 0) blocks.push(blocks.splice(-1)[0].slice(0, used));
    return { length: this.#length, blocks };
  }
}

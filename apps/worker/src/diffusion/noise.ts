/**
 * The noise of a seed, as torch's CPU generator makes it, so a seed gives the same picture as in diffusers: MT19937
 * (Matsumoto and Nishimura, 1998) and the Box-Muller transform, in the two orders of torch's `randn`. Each sample has its
 * own stream, for the first latent and then for every stochastic step.
 */
import { LehrError } from '@lehr/shared';

/** The words of a stream's state. */
export const NOISE_WORDS = 624;
const SHIFT_WORDS = 397;
const UPPER_BIT = 0x80000000;
const LOWER_BITS = 0x7fffffff;
const TWIST = 0x9908b0df;

/** torch fills tensors of at least this length in blocks of this size, and shorter ones value by value. */
const BLOCK = 16;
const HALF_BLOCK = BLOCK / 2;
const TWO_PI = Math.fround(2 * Math.PI);

/** State of a stream as plain data: with a sampler's state it makes a stochastic run resumable. */
export interface NoiseState {
  /** The 624 words of MT19937. */
  readonly words: Uint32Array;
  /** Number of words used so far. */
  readonly used: number;
  /** The unused second value of the last pair of a short draw. */
  readonly spare: number | null;
}

export class SeededNoise {
  readonly #words = new Uint32Array(NOISE_WORDS);
  #used = NOISE_WORDS;
  #spare: number | null = null;

  /** Any whole number from -2^53 to 2^53; as in torch, only the seed modulo 2^32 counts. */
  constructor(seed: number) {
    this.#words[0] = seed >>> 0;
    for (let i = 1; i < NOISE_WORDS; i++) {
      const last = this.#words[i - 1] ^ (this.#words[i - 1] >>> 30);
      this.#words[i] = Math.imul(last, 1812433253) + i;
    }
  }

  /** The next `length` standard normal values: what `torch.randn(length, generator=...)` gives on the CPU in float32. */
  readonly draw = (length: number): Float32Array => {
    const out = new Float32Array(length);
    if (length < BLOCK) this.#drawOneByOne(out);
    else this.#drawBlocks(out);
    return out;
  };

  state(): NoiseState {
    return { words: this.#words.slice(), used: this.#used, spare: this.#spare };
  }

  /** Continues from a `state()`. Throws LehrError `internal` for an invalid state. */
  restore(state: NoiseState): void {
    const fits = state.words.length === NOISE_WORDS && state.used >= 0 && state.used <= NOISE_WORDS;
    if (!fits) {
      const got = `${state.words.length} words, ${state.used} used`;
      throw new LehrError('internal', `A noise state has ${NOISE_WORDS} words, this one has ${got}.`);
    }
    this.#words.set(state.words);
    this.#used = state.used;
    this.#spare = state.spare;
  }

  /** torch's `normal_fill`: first all uniforms, then Box-Muller in each block, which pairs its two halves. */
  #drawBlocks(out: Float32Array): void {
    for (let i = 0; i < out.length; i++) out[i] = this.#uniform24();
    for (let at = 0; at + BLOCK <= out.length; at += BLOCK) normalBlock(out, at);
    if (out.length % BLOCK === 0) return;
    // An incomplete last block: torch draws the last 16 values again, over values that were final already.
    const tail = out.length - BLOCK;
    for (let i = tail; i < out.length; i++) out[i] = this.#uniform24();
    normalBlock(out, tail);
  }

  /** torch's `normal_distribution<double>`: makes pairs, and keeps the second value for the next call. */
  #drawOneByOne(out: Float32Array): void {
    for (let i = 0; i < out.length; i++) {
      if (this.#spare !== null) {
        out[i] = this.#spare;
        this.#spare = null;
        continue;
      }
      const angle = 2 * Math.PI * this.#uniform53();
      const radius = Math.sqrt(-2 * Math.log1p(-this.#uniform53()));
      out[i] = radius * Math.cos(angle);
      this.#spare = radius * Math.sin(angle);
    }
  }

  /** In [0, 1), exact in float32. */
  #uniform24(): number {
    return (this.#next() & 0xffffff) / 2 ** 24;
  }

  /** In [0, 1), from two words, the high one first. */
  #uniform53(): number {
    const high = this.#next() & 0x1fffff;
    return (high * 2 ** 32 + this.#next()) / 2 ** 53;
  }

  #next(): number {
    if (this.#used === NOISE_WORDS) this.#twist();
    let y = this.#words[this.#used++];
    y ^= y >>> 11;
    y ^= (y << 7) & 0x9d2c5680;
    y ^= (y << 15) & 0xefc60000;
    return (y ^ (y >>> 18)) >>> 0;
  }

  #twist(): void {
    const words = this.#words;
    for (let i = 0; i < NOISE_WORDS; i++) {
      // Indices wrap without `%`, which would double the cost of a draw's uniforms.
      const next = words[i + 1 < NOISE_WORDS ? i + 1 : 0];
      const far = words[i < NOISE_WORDS - SHIFT_WORDS ? i + SHIFT_WORDS : i + SHIFT_WORDS - NOISE_WORDS];
      const y = (words[i] & UPPER_BIT) | (next & LOWER_BITS);
      words[i] = far ^ (y >>> 1) ^ (y & 1 ? TWIST : 0);
    }
    this.#used = 0;
  }
}

/**
 * Box-Muller in place: value i of the block's first half pairs with value i of its second. torch computes in float32
 * here; rounding at the same places reduces the largest difference from 9e-7 to 2.4e-7.
 */
function normalBlock(out: Float32Array, at: number): void {
  for (let i = at; i < at + HALF_BLOCK; i++) {
    const radius = Math.fround(Math.sqrt(Math.fround(-2 * Math.fround(Math.log(1 - out[i])))));
    const angle = Math.fround(TWO_PI * out[i + HALF_BLOCK]);
    out[i] = radius * Math.cos(angle);
    out[i + HALF_BLOCK] = radius * Math.sin(angle);
  }
}

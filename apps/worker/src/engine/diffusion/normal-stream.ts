/**
 * The noise of a seed, as torch's CPU generator makes it, so a seed gives the same picture as in diffusers: MT19937
 * (Matsumoto and Nishimura, 1998) and the Box-Muller transform, in the two orders of torch's `randn`. The
 * noise thread loads this file: it imports nothing that is not needed for a draw.
 */
import { BLOCK, normalBlock } from './box-muller.ts';

/** The words of a stream's state. */
export const NOISE_WORDS = 624;
const SHIFT_WORDS = 397;
const UPPER_BIT = 0x80000000;
const LOWER_BITS = 0x7fffffff;
const TWIST = 0x9908b0df;

/** State of a stream as plain data: with a sampler's state it makes a stochastic run resumable. */
export interface NoiseState {
  /** The 624 words of MT19937. */
  readonly words: Uint32Array;
  /** Number of words used so far. */
  readonly used: number;
  /** The unused second value of the last pair of a short draw. */
  readonly spare: number | null;
}

export class NormalStream {
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

  /**
   * The next `length` standard normal values: what `torch.randn(length, generator=...)` gives on the CPU in float32. They are written
   * into `out`, when given, which has this length.
   */
  readonly draw = (length: number, out: Float32Array = new Float32Array(length)): Float32Array => {
    if (length < BLOCK) this.#drawOneByOne(out);
    else this.#drawBlocks(out);
    return out;
  };

  state(): NoiseState {
    return { words: this.#words.slice(), used: this.#used, spare: this.#spare };
  }

  /** Continues from a `state()`. */
  restore(state: NoiseState): void {
    this.#words.set(state.words);
    this.#used = state.used;
    this.#spare = state.spare;
  }

  /** torch's `normal_fill`, for at least 16 values: first all uniforms, then Box-Muller in each block. Shorter draws go value by value. */
  #drawBlocks(out: Float32Array): void {
    this.#fillUniform24(out, 0);
    for (let at = 0; at + BLOCK <= out.length; at += BLOCK) normalBlock(out, at);
    if (out.length % BLOCK === 0) return;
    // An incomplete last block: torch draws the last 16 values again, over values that were final already.
    const tail = out.length - BLOCK;
    this.#fillUniform24(out, tail);
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

  /** From `start` on, values in [0, 1), exact in float32. A loop over the words is three times as fast as a call of #next for each. */
  #fillUniform24(out: Float32Array, start: number): void {
    for (let i = start; i < out.length; ) {
      if (this.#used === NOISE_WORDS) this.#twist();
      const end = Math.min(out.length, i + NOISE_WORDS - this.#used);
      const words = this.#words.subarray(this.#used, this.#used + end - i);
      for (let at = 0; at < words.length; at++) out[i + at] = (temper(words[at]) & 0xffffff) / 2 ** 24;
      this.#used += words.length;
      i = end;
    }
  }

  /** In [0, 1), from two words, the high one first. */
  #uniform53(): number {
    const high = this.#next() & 0x1fffff;
    return (high * 2 ** 32 + this.#next()) / 2 ** 53;
  }

  #next(): number {
    if (this.#used === NOISE_WORDS) this.#twist();
    return temper(this.#words[this.#used++]) >>> 0;
  }

  #twist(): void {
    const words = this.#words;
    const turn = NOISE_WORDS - SHIFT_WORDS;
    // Indices wrap between the loops: a `%` or a condition in a loop would double the cost of a draw's uniforms.
    for (let i = 0; i < turn; i++) words[i] = words[i + SHIFT_WORDS] ^ twist(words[i], words[i + 1]);
    for (let i = turn; i < NOISE_WORDS - 1; i++) words[i] = words[i - turn] ^ twist(words[i], words[i + 1]);
    words[NOISE_WORDS - 1] = words[SHIFT_WORDS - 1] ^ twist(words[NOISE_WORDS - 1], words[0]);
    this.#used = 0;
  }
}

function twist(word: number, next: number): number {
  const y = (word & UPPER_BIT) | (next & LOWER_BITS);
  return (y >>> 1) ^ (-(y & 1) & TWIST);
}

/** The output of MT19937 for a word of its state, as a signed integer. */
function temper(word: number): number {
  let y = word;
  y ^= y >>> 11;
  y ^= (y << 7) & 0x9d2c5680;
  y ^= (y << 15) & 0xefc60000;
  return y ^ (y >>> 18);
}

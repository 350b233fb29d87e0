/**
 * The seed's noise: torch's CPU generator, so a seed draws the picture that diffusers draws for it. MT19937
 * (Matsumoto and Nishimura, 1998) turned normal by Box and Muller in the two orders that torch's `randn` has.
 * One stream per sample feeds the first latent and then every stochastic step, whatever else is in the batch.
 */
import { LehrError } from '@lehr/shared';

const STATE_WORDS = 624;
const SHIFT_WORDS = 397;
const UPPER_BIT = 0x80000000;
const LOWER_BITS = 0x7fffffff;
const TWIST = 0x9908b0df;

/** From this length on torch fills a tensor in blocks of this size; shorter tensors it draws one by one. */
const BLOCK = 16;
const HALF_BLOCK = BLOCK / 2;
const TWO_PI = Math.fround(2 * Math.PI);

/** Where a stream stands, as plain data: beside a sampler's state it makes a stochastic run resumable. */
export interface NoiseState {
  /** The 624 words of MT19937. */
  readonly words: Uint32Array;
  /** How many of them are used up. */
  readonly used: number;
  /** Second half of the last pair that a short draw began. */
  readonly spare: number | null;
}

export class SeededNoise {
  readonly #words = new Uint32Array(STATE_WORDS);
  #used = STATE_WORDS;
  #spare: number | null = null;

  /** Any whole number up to 2^53 either way; as in torch only the seed modulo 2^32 counts. */
  constructor(seed: number) {
    this.#words[0] = seed >>> 0;
    for (let i = 1; i < STATE_WORDS; i++) {
      const last = this.#words[i - 1] ^ (this.#words[i - 1] >>> 30);
      this.#words[i] = Math.imul(last, 1812433253) + i;
    }
  }

  /** The stream's next `length` unit normals: what `torch.randn(length, generator=...)` gives on CPU in float32. */
  readonly draw = (length: number): Float32Array => {
    const out = new Float32Array(length);
    if (length < BLOCK) this.#drawOneByOne(out);
    else this.#drawBlocks(out);
    return out;
  };

  state(): NoiseState {
    return { words: this.#words.slice(), used: this.#used, spare: this.#spare };
  }

  /** Goes on where `state()` was taken. Throws LehrError `internal` on a state that is none. */
  restore(state: NoiseState): void {
    const fits = state.words.length === STATE_WORDS && state.used >= 0 && state.used <= STATE_WORDS;
    if (!fits) {
      const got = `${state.words.length} words, ${state.used} used`;
      throw new LehrError('internal', `A noise state has ${STATE_WORDS} words, this one has ${got}.`);
    }
    this.#words.set(state.words);
    this.#used = state.used;
    this.#spare = state.spare;
  }

  /** torch's `normal_fill`: all uniforms first, then Box-Muller inside each block, its halves paired. */
  #drawBlocks(out: Float32Array): void {
    for (let i = 0; i < out.length; i++) out[i] = this.#uniform24();
    for (let at = 0; at + BLOCK <= out.length; at += BLOCK) normalBlock(out, at);
    if (out.length % BLOCK === 0) return;
    // A ragged end is covered by drawing the last whole block again, over values that were final already.
    const tail = out.length - BLOCK;
    for (let i = tail; i < out.length; i++) out[i] = this.#uniform24();
    normalBlock(out, tail);
  }

  /** torch's `normal_distribution<double>`: a pair at a time, its second half kept for the next call. */
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

  /** In [0, 1), exact in a float32. */
  #uniform24(): number {
    return (this.#next() & 0xffffff) / 2 ** 24;
  }

  /** In [0, 1), from two words, the high one first. */
  #uniform53(): number {
    const high = this.#next() & 0x1fffff;
    return (high * 2 ** 32 + this.#next()) / 2 ** 53;
  }

  #next(): number {
    if (this.#used === STATE_WORDS) this.#twist();
    let y = this.#words[this.#used++];
    y ^= y >>> 11;
    y ^= (y << 7) & 0x9d2c5680;
    y ^= (y << 15) & 0xefc60000;
    return (y ^ (y >>> 18)) >>> 0;
  }

  #twist(): void {
    const words = this.#words;
    for (let i = 0; i < STATE_WORDS; i++) {
      // Wrapped by hand: with remainders this loop costs as much as all the rest of a draw's uniforms.
      const next = words[i + 1 < STATE_WORDS ? i + 1 : 0];
      const far = words[i < STATE_WORDS - SHIFT_WORDS ? i + SHIFT_WORDS : i + SHIFT_WORDS - STATE_WORDS];
      const y = (words[i] & UPPER_BIT) | (next & LOWER_BITS);
      words[i] = far ^ (y >>> 1) ^ (y & 1 ? TWIST : 0);
    }
    this.#used = 0;
  }
}

/**
 * Box-Muller in place: value i of the block's first half pairs with value i of its second. torch works in float32
 * here, and rounding where it does brings the largest difference down from 9e-7 to 2.4e-7.
 */
function normalBlock(out: Float32Array, at: number): void {
  for (let i = at; i < at + HALF_BLOCK; i++) {
    const radius = Math.fround(Math.sqrt(Math.fround(-2 * Math.fround(Math.log(1 - out[i])))));
    const angle = Math.fround(TWO_PI * out[i + HALF_BLOCK]);
    out[i] = radius * Math.cos(angle);
    out[i + HALF_BLOCK] = radius * Math.sin(angle);
  }
}

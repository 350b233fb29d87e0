/**
 * The noise of a seed, as torch's CPU generator makes it, so a seed gives the same picture as in diffusers: MT19937
 * (Matsumoto and Nishimura, 1998) and the Box-Muller transform, in the two orders of torch's `randn`. The
 * noise thread loads this file: it imports nothing that is not needed for a draw.
 */

/** torch fills tensors of at least this length in blocks of this size. */
export const BLOCK = 16;
const HALF_BLOCK = BLOCK / 2;
const TWO_PI = Math.fround(2 * Math.PI);

const QUARTER = Math.PI / 2;
const QUARTERS_PER_RADIAN = 2 / Math.PI;
/** Cosine and sine of whole quarter turns, from none to four. */
const QUARTER_COSINES = Float64Array.of(1, 0, -1, 0, 1);
const QUARTER_SINES = Float64Array.of(0, 1, 0, -1, 0);

/**
 * The Box-Muller transform as torch's CPU generator applies it, 16 values at a time.
 *
 * Makes 16 standard normal values out of the uniform ones in [0, 1) at `out[at]`, in place: value i of the block's first half pairs
 * with value i of its second. torch computes in float32 here; rounding at the same places reduces the largest difference from 9e-7
 * to 2.4e-7.
 *
 * Cosine and sine come from their Taylor series, because Math.cos and Math.sin took almost half of a draw's time. The angle is
 * at most an eighth of a turn from a whole number of quarters, where the terms that are left out are below 4e-13: float32 has
 * 6e-8.
 */
export function normalBlock(out: Float32Array, at: number): void {
  for (let i = at; i < at + HALF_BLOCK; i++) {
    const radius = Math.fround(Math.sqrt(Math.fround(-2 * Math.fround(Math.log(1 - out[i])))));
    const angle = Math.fround(TWO_PI * out[i + HALF_BLOCK]);
    // `| 0` rounds down and keeps the number an integer.
    const quarters = (angle * QUARTERS_PER_RADIAN + 0.5) | 0;
    const rest = angle - quarters * QUARTER;
    const cosine = cosineOf(rest);
    const sine = sineOf(rest);
    out[i] = radius * (QUARTER_COSINES[quarters] * cosine - QUARTER_SINES[quarters] * sine);
    out[i + HALF_BLOCK] = radius * (QUARTER_SINES[quarters] * cosine + QUARTER_COSINES[quarters] * sine);
  }
}

/** For -pi/4 to pi/4. */
function cosineOf(angle: number): number {
  const z = angle * angle;
  const high = 1 / 40320 + z * (-1 / 3628800 + z / 479001600);
  return 1 + z * (-1 / 2 + z * (1 / 24 + z * (-1 / 720 + z * high)));
}

/** For -pi/4 to pi/4. */
function sineOf(angle: number): number {
  const z = angle * angle;
  const high = 1 / 362880 + z * (-1 / 39916800 + z / 6227020800);
  return angle * (1 + z * (-1 / 6 + z * (1 / 120 + z * (-1 / 5040 + z * high))));
}

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

const IDLE = 0;
const REQUESTED = 1;
const BEGUN = 2;
const DRAWN = 3;

/** Places in the head, in words. */
const PHASE = 0;
const USED_BEFORE = 1;
const USED_AFTER = 2;
const HEAD_WORDS = 4;
const WORD_BYTES = 4;
const VALUES_AT = (HEAD_WORDS + 2 * NOISE_WORDS) * WORD_BYTES;

/** A draw takes about a millisecond. The thread may wait for a core, or be dead. */
const MOST_WAIT_MS = 200;

/**
 * One draw of noise in memory that two threads share: the engine writes the state of the stream, the noise thread writes the values and
 * the state after them. The engine's own stream does not move before it takes the result, so that a draw which is late or lost is made
 * again by the engine, with the same values.
 *
 *   idle -> requested -> begun -> drawn -> idle
 *           requested -> idle              the engine was faster
 */
export class SharedDraw {
  readonly buffer: SharedArrayBuffer;
  readonly values: Float32Array;
  readonly #head: Int32Array;
  readonly #before: Uint32Array;
  readonly #after: Uint32Array;

  constructor(buffer: SharedArrayBuffer) {
    this.buffer = buffer;
    this.#head = new Int32Array(buffer, 0, HEAD_WORDS);
    this.#before = new Uint32Array(buffer, HEAD_WORDS * WORD_BYTES, NOISE_WORDS);
    this.#after = new Uint32Array(buffer, (HEAD_WORDS + NOISE_WORDS) * WORD_BYTES, NOISE_WORDS);
    this.values = new Float32Array(buffer, VALUES_AT);
  }

  /** For `length` values, at least 16: shorter draws also depend on the spare value of a stream. */
  static of(length: number): SharedDraw {
    return new SharedDraw(new SharedArrayBuffer(VALUES_AT + length * Float32Array.BYTES_PER_ELEMENT));
  }

  /** The engine's side: asks for the values after this state. */
  request({ words, used }: NoiseState): void {
    this.#before.set(words);
    this.#head[USED_BEFORE] = used;
    Atomics.store(this.#head, PHASE, REQUESTED);
  }

  /**
   * The engine's side: `drawn` when the values and `after` are there, `not-begun` when nothing will be written any more. Waits for a draw
   * that has begun; it is `lost` when that takes too long, and its memory must not be used again.
   */
  take(mostWaitMs = MOST_WAIT_MS): 'drawn' | 'not-begun' | 'lost' {
    const phase = Atomics.compareExchange(this.#head, PHASE, REQUESTED, IDLE);
    if (phase === REQUESTED) return 'not-begun';
    if (phase === BEGUN) Atomics.wait(this.#head, PHASE, BEGUN, mostWaitMs);
    return Atomics.compareExchange(this.#head, PHASE, DRAWN, IDLE) === DRAWN ? 'drawn' : 'lost';
  }

  /** The stream's state after the values; a view of the shared memory. */
  get after(): Pick<NoiseState, 'words' | 'used'> {
    return { words: this.#after, used: this.#head[USED_AFTER] };
  }

  /** The thread's side: makes the draw, unless the engine has made it meanwhile. */
  perform(stream = new NormalStream(0)): void {
    if (Atomics.compareExchange(this.#head, PHASE, REQUESTED, BEGUN) !== REQUESTED) return;
    stream.restore({ words: this.#before, used: this.#head[USED_BEFORE], spare: null });
    stream.draw(this.values.length, this.values);
    const { words, used } = stream.state();
    this.#after.set(words);
    this.#head[USED_AFTER] = used;
    Atomics.store(this.#head, PHASE, DRAWN);
    Atomics.notify(this.#head, PHASE);
  }
}

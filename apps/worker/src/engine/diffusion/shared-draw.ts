/**
 * One draw of noise in memory that two threads share: the engine writes the state of the stream, the noise thread writes the values and
 * the state after them. The engine's own stream does not move before it takes the result, so that a draw which is late or lost is made
 * again by the engine, with the same values.
 *
 *   idle -> requested -> begun -> drawn -> idle
 *           requested -> idle              the engine was faster
 */
import { NOISE_WORDS, type NoiseState, NormalStream } from './normal-stream.ts';

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

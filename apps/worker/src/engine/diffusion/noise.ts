/** A sample's own noise: for its first latent, and then for every step of a stochastic sampler. */
import { LehrError } from '@lehr/shared';
import { BLOCK } from './box-muller.ts';
import { NOISE_WORDS, type NoiseState, NormalStream } from './normal-stream.ts';
import { SharedDraw } from './shared-draw.ts';

export { NOISE_WORDS, type NoiseState };

export class SeededNoise {
  readonly #stream: NormalStream;
  /** The next draw, when another thread was asked for it. */
  #ahead: SharedDraw | undefined;
  /** Memory for the draws of another thread, while it makes none. */
  #memory: SharedDraw | undefined;

  /** Any whole number from -2^53 to 2^53; as in torch, only the seed modulo 2^32 counts. */
  constructor(seed: number) {
    this.#stream = new NormalStream(seed);
  }

  /** The next `length` standard normal values. After `drawAhead` they are in memory that the next `drawAhead` uses again. */
  readonly draw = (length: number): Float32Array => {
    const ahead = this.#ahead;
    this.#ahead = undefined;
    if (ahead?.values.length !== length) return this.#stream.draw(length);
    const outcome = ahead.take();
    if (outcome !== 'lost') this.#memory = ahead;
    if (outcome !== 'drawn') return this.#stream.draw(length);
    this.#stream.restore({ ...ahead.after, spare: this.#stream.state().spare });
    return ahead.values;
  };

  /**
   * Prepares the next draw for the noise thread; returns the memory to send there, or undefined when the next draw is prepared already or
   * is too short. Changes neither the values that `draw` gives nor the state.
   */
  drawAhead(length: number): SharedArrayBuffer | undefined {
    if (this.#ahead || length < BLOCK) return undefined;
    const draw = this.#memory?.values.length === length ? this.#memory : SharedDraw.of(length);
    this.#memory = undefined;
    this.#ahead = draw;
    draw.request(this.#stream.state());
    return draw.buffer;
  }

  state(): NoiseState {
    return this.#stream.state();
  }

  /** Continues from a `state()`. Throws LehrError `internal` for an invalid state. */
  restore(state: NoiseState): void {
    const fits = state.words.length === NOISE_WORDS && state.used >= 0 && state.used <= NOISE_WORDS;
    if (!fits) {
      const got = `${state.words.length} words, ${state.used} used`;
      throw new LehrError('internal', `A noise state has ${NOISE_WORDS} words, this one has ${got}.`);
    }
    this.#ahead = undefined;
    this.#stream.restore(state);
  }
}

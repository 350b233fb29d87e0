/**
 * A sample's own noise, for its first latent and then for every step of a stochastic sampler; and the thread that draws it ahead.
 */

import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { LehrError } from '@lehr/shared';
import { BLOCK, NOISE_WORDS, type NoiseState, NormalStream, SharedDraw } from './normal-stream.ts';

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

/** Compiled or not, as this file is. */
const ENTRY = new URL(`./noise-thread${extname(import.meta.url)}`, import.meta.url);
/** It holds one stream; draws are outside of its heap. */
const HEAP_MB = 32;

/** The noise thread as the engine sees it. */
export class NoiseDrawer {
  readonly #entry: URL;
  #worker: Worker | undefined;
  readonly #onLost: (cause: unknown) => void;
  #isBroken = false;

  /**
   * `onLost` is called once when the thread cannot start, or dies; the engine then makes every draw. `entry`: the module of the thread;
   * tests give others.
   */
  constructor(onLost: (cause: unknown) => void = () => {}, entry = ENTRY) {
    this.#onLost = onLost;
    this.#entry = entry;
  }

  /**
   * Has these draws made by the thread, which is started at the first call. Nothing depends on it: the engine makes a draw that the thread
   * has not begun, and a thread that has died is not started again.
   */
  begin(draws: readonly SharedArrayBuffer[]): void {
    if (draws.length === 0 || this.#isBroken) return;
    this.#worker ??= this.#start();
    this.#worker?.postMessage(draws);
  }

  async close(): Promise<void> {
    this.#isBroken = true;
    await this.#worker?.terminate();
  }

  #start(): Worker | undefined {
    try {
      const worker = new Worker(this.#entry, { resourceLimits: { maxOldGenerationSizeMb: HEAP_MB } });
      // Without a listener, a second error of the thread would end the engine.
      worker.on('error', (cause) => this.#lost(cause));
      // The engine process ends without waiting for it.
      worker.unref();
      return worker;
    } catch (cause) {
      // The machine or the container allows no further thread.
      this.#lost(cause);
      return undefined;
    }
  }

  #lost(cause: unknown): void {
    // A thread that `close` ends is not lost.
    if (this.#isBroken) return;
    this.#isBroken = true;
    this.#onLost(cause);
  }
}

/** The noise thread as the engine sees it. */
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';

/** Compiled or not, as this file is. */
const ENTRY = new URL(`./noise-thread${extname(import.meta.url)}`, import.meta.url);
/** It holds one stream; draws are outside of its heap. */
const HEAP_MB = 32;

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

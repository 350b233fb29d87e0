/**
 * All windows that write, in as few decoder calls as the graph allows: one batch for everybody, or for an aligned graph one
 * batch for each length of text. There the batch that is furthest behind goes first; once it has caught up with another
 * they are one. Catching up costs no work, as those tokens have to be written anyway, only the patience of those ahead.
 */
import type { Decoder } from '../whisper/decoder.ts';
import type { WhisperWindow } from './whisper-window.ts';
import { WindowBatch } from './window-batch.ts';

/** Calls a batch lets those behind it go first, in all; after that it takes turns with them. */
const PATIENCE = 32;

interface Running {
  readonly batch: WindowBatch;
  patience: number;
  /** Number of its last call. */
  lastCall: number;
}

export class WindowBatches {
  readonly #decoder: Decoder;
  readonly #ladder: readonly number[];
  #running: Running[] = [];
  #calls = 0;

  constructor(decoder: Decoder, ladder: readonly number[]) {
    this.#decoder = decoder;
    this.#ladder = ladder;
  }

  get isEmpty(): boolean {
    return this.#running.length === 0;
  }

  get windows(): WhisperWindow[] {
    return this.#running.flatMap(({ batch }) => batch.windows);
  }

  /** The batch for a window that has read so many tokens. */
  batchFor(length: number): WindowBatch {
    const isShared = this.#decoder.batching.mode === 'rows';
    const open = this.#running.find(({ batch }) => isShared || batch.length === length);
    if (open) return open.batch;
    const batch = new WindowBatch(this.#decoder, this.#ladder);
    this.#running.push({ batch, patience: PATIENCE, lastCall: this.#calls });
    return batch;
  }

  /** The batch whose turn it is to write a token. */
  next(): WindowBatch {
    const [behind, ...ahead] = [...this.#running].sort((a, b) => a.batch.length - b.batch.length);
    const impatient = ahead.filter(({ patience }) => patience <= 0);
    const [chosen] = [behind, ...impatient].sort((a, b) => a.lastCall - b.lastCall);
    for (const each of ahead) if (each !== chosen) each.patience -= 1;
    chosen.lastCall = ++this.#calls;
    return chosen.batch;
  }

  /** Takes out every window that `leaves` says, and gives them back. */
  removeWhere(leaves: (window: WhisperWindow) => boolean): WhisperWindow[] {
    const gone = this.#running.flatMap(({ batch }) => batch.removeWhere(leaves));
    this.settle();
    return gone;
  }

  /** Lets go of empty batches and joins those that have come to the same length. */
  settle(): void {
    const settled: Running[] = [];
    for (const each of this.#running) {
      const same = settled.find(({ batch }) => batch.length === each.batch.length);
      if (each.batch.windows.length === 0) continue;
      if (same) {
        same.batch.merge(each.batch);
        same.patience = Math.min(same.patience, each.patience);
      } else {
        settled.push(each);
      }
    }
    this.#running = settled;
  }
}

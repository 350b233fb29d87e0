/**
 * All windows that are decoding, in as few batches as the graph allows: one batch in all, or for an aligned graph one batch
 * for each length of text. There the batch with the shortest texts goes first, until it reaches the length of another one and
 * they merge. That costs no extra work, because its tokens must be written anyway, but it delays the longer batches.
 */
import type { Decoder } from '../decoder.ts';
import type { WhisperWindow } from './whisper-window.ts';
import { WindowBatch } from './window-batch.ts';

/** How many calls of shorter batches a batch waits for in all; after that they take turns. */
const MAX_WAITED_CALLS = 32;

interface Running {
  readonly batch: WindowBatch;
  /** How many more calls of shorter batches it waits for. */
  waitsLeft: number;
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

  /** The batch for a window that has this many tokens. */
  batchFor(length: number): WindowBatch {
    const isShared = this.#decoder.batching.mode === 'rows';
    const open = this.#running.find(({ batch }) => isShared || batch.length === length);
    if (open) return open.batch;
    const batch = new WindowBatch(this.#decoder, this.#ladder);
    this.#running.push({ batch, waitsLeft: MAX_WAITED_CALLS, lastCall: this.#calls });
    return batch;
  }

  /** The batch that writes the next token. */
  next(): WindowBatch {
    const [shortest, ...longer] = [...this.#running].sort((a, b) => a.batch.length - b.batch.length);
    const overdue = longer.filter(({ waitsLeft }) => waitsLeft <= 0);
    const [chosen] = [shortest, ...overdue].sort((a, b) => a.lastCall - b.lastCall);
    for (const each of longer) if (each !== chosen) each.waitsLeft -= 1;
    chosen.lastCall = ++this.#calls;
    return chosen.batch;
  }

  /** Removes the windows for which `leaves` is true, and returns them. */
  removeWhere(leaves: (window: WhisperWindow) => boolean): WhisperWindow[] {
    const removed = this.#running.flatMap(({ batch }) => batch.removeWhere(leaves));
    this.settle();
    return removed;
  }

  /** Removes empty batches and merges batches of equal length. */
  settle(): void {
    const settled: Running[] = [];
    for (const each of this.#running) {
      const same = settled.find(({ batch }) => batch.length === each.batch.length);
      if (each.batch.windows.length === 0) continue;
      if (same) {
        same.batch.merge(each.batch);
        same.waitsLeft = Math.min(same.waitsLeft, each.waitsLeft);
      } else {
        settled.push(each);
      }
    }
    this.#running = settled;
  }
}

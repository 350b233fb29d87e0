/**
 * All windows that are decoding, in as few batches as the graph allows: one batch in all, or for an aligned graph one batch
 * for each length of text. There the batch with the shortest texts goes first, until it reaches the length of another one and
 * they merge. That costs no extra work, because its tokens must be written anyway, but it delays the longer batches.
 */

import { type LehrError, toLehrError } from '@lehr/shared';
import { runInHalves } from '../../lanes/run-in-halves.ts';
import type { Decoder } from '../decoder.ts';
import type { DecoderBatch, RowState } from '../decoder-batch.ts';
import type { WhisperWindow } from './whisper-window.ts';

interface StepOutcome {
  /** False when the call had to be split: its time is then no measure of a whole call. */
  readonly whole: boolean;
  readonly failures: readonly { readonly window: WhisperWindow; readonly error: LehrError }[];
  /** The fewest rows of a call that did not fit into the device's memory; undefined when all calls fit. */
  readonly tooMany: number | undefined;
}

/** Windows that share decoder calls: window i has row i of the decoder's batch. */
class WindowBatch {
  readonly #decoder: Decoder;
  readonly #ladder: readonly number[];
  readonly #rows: DecoderBatch;
  readonly #windows: WhisperWindow[] = [];

  /** `ladder`: row counts that calls are padded to, for providers that tune per shape; empty for none. */
  constructor(decoder: Decoder, ladder: readonly number[]) {
    this.#decoder = decoder;
    this.#ladder = ladder;
    this.#rows = decoder.newBatch();
  }

  get windows(): readonly WhisperWindow[] {
    return this.#windows;
  }

  /** Tokens of the first row; in an aligned batch, of all rows. */
  get length(): number {
    return this.#rows.lengths[0] ?? 0;
  }

  add(window: WhisperWindow, state: RowState): void {
    this.#rows.push(state);
    this.#windows.push(window);
  }

  /** Removes the windows for which `leaves` is true, and returns them. */
  removeWhere(leaves: (window: WhisperWindow) => boolean): WhisperWindow[] {
    const removed: WhisperWindow[] = [];
    // Backwards, because the last row moves into the place of the removed one.
    for (let row = this.#windows.length - 1; row >= 0; row--) {
      const window = this.#windows[row];
      if (!leaves(window)) continue;
      removed.push(window);
      this.#rows.remove(row);
      const last = this.#windows.pop();
      if (last && row < this.#windows.length) this.#windows[row] = last;
    }
    return removed.reverse();
  }

  /** Adds the rows of another aligned batch of the same length. */
  merge(other: WindowBatch): void {
    this.#rows.takeOver(other.#rows);
    this.#windows.push(...other.#windows);
  }

  /** Writes one token for every window. Those that cannot run are removed. Never rejects. */
  async step(): Promise<StepOutcome> {
    const tokens = this.#windows.map((window) => window.text.nextToken);
    const failures = new Map<WhisperWindow, LehrError>();
    const written = new Map<WhisperWindow, { logits: Float32Array; batchSize: number }>();
    let tooMany: number | undefined;
    const hasRunWhole = await runInHalves([...tokens.keys()], {
      run: async (rows) => {
        const [from, batchSize] = [rows[0], rows.length];
        const padTo = this.#ladder.find((rung) => rung >= batchSize) ?? 0;
        const logits = await this.#decoder.step(this.#rows, tokens, { from, to: from + batchSize, padTo });
        for (const [i, row] of rows.entries())
          written.set(this.#windows[row], { logits: logits[i], batchSize });
      },
      onSplit: (rows, { code }) => {
        if (code === 'out-of-memory') tooMany = rows.length;
      },
      onFailed: (row, error) => failures.set(this.#windows[row], error),
    });
    this.#rows.advance();
    for (const [window, { logits, batchSize }] of written) {
      try {
        window.advance(logits, batchSize);
      } catch (cause) {
        failures.set(window, toLehrError(cause, 'engine-failed'));
      }
    }
    this.removeWhere((window) => failures.has(window));
    return {
      whole: hasRunWhole && failures.size === 0,
      failures: [...failures].map(([window, error]) => ({ window, error })),
      tooMany,
    };
  }
}

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

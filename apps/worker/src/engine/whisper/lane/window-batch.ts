/** Windows that share decoder calls: window i has row i of the decoder's batch. */
import { type LehrError, toLehrError } from '@lehr/shared';
import { runInHalves } from '../../lanes/run-in-halves.ts';
import type { Decoder } from '../decoder.ts';
import type { DecoderBatch, RowState } from '../decoder-batch.ts';
import type { WhisperWindow } from './whisper-window.ts';

export interface StepOutcome {
  /** False when the call had to be split: its time is then no measure of a whole call. */
  readonly whole: boolean;
  readonly failures: readonly { readonly window: WhisperWindow; readonly error: LehrError }[];
  /** The fewest rows of a call that did not fit into the device's memory; undefined when all calls fit. */
  readonly tooMany: number | undefined;
}

export class WindowBatch {
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
    const tokens = this.#windows.map((window) => window.nextToken);
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

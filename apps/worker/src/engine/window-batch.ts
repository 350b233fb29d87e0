/** Windows that share decoder calls: each has a row of the decoder's batch, and the two lists never differ. */
import { type LehrError, toLehrError } from '@lehr/shared';
import type { Decoder } from '../whisper/decoder.ts';
import type { DecoderBatch, RowState } from '../whisper/decoder-batch.ts';
import type { WhisperWindow } from './whisper-window.ts';

export interface StepOutcome {
  /** False when the call had to be split: then it tells nothing about what a whole one takes. */
  readonly whole: boolean;
  readonly failures: readonly { readonly window: WhisperWindow; readonly error: LehrError }[];
  /** The fewest rows of a call that did not fit into the device's memory. */
  readonly tooMany: number | undefined;
}

export class WindowBatch {
  readonly #decoder: Decoder;
  readonly #ladder: readonly number[];
  readonly #rows: DecoderBatch;
  readonly #windows: WhisperWindow[] = [];

  /** `ladder`: row counts that calls are filled up to, for providers that tune per shape; empty for none. */
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

  /** Takes out every window that `leaves` says, and gives them back. */
  removeWhere(leaves: (window: WhisperWindow) => boolean): WhisperWindow[] {
    const gone: WhisperWindow[] = [];
    // From the end: the last row takes the place of the one that leaves.
    for (let row = this.#windows.length - 1; row >= 0; row--) {
      const window = this.#windows[row];
      if (!leaves(window)) continue;
      gone.push(window);
      this.#rows.remove(row);
      const last = this.#windows.pop();
      if (last && row < this.#windows.length) this.#windows[row] = last;
    }
    return gone.reverse();
  }

  /** Takes over the rows of an aligned batch that has come to the same length. */
  merge(other: WindowBatch): void {
    this.#rows.takeOver(other.#rows);
    this.#windows.push(...other.#windows);
  }

  /**
   * One token for every window. A call that fails is tried again in halves, so that only the windows that cannot run
   * fail; these are taken out. Never rejects.
   */
  async step(): Promise<StepOutcome> {
    const tokens = this.#windows.map((window) => window.nextToken);
    const failures = new Map<WhisperWindow, LehrError>();
    const written = new Map<WhisperWindow, { logits: Float32Array; batchSize: number }>();
    let tooMany: number | undefined;
    const run = async (from: number, to: number): Promise<void> => {
      try {
        const padTo = this.#ladder.find((rung) => rung >= to - from) ?? 0;
        const logits = await this.#decoder.step(this.#rows, tokens, { from, to, padTo });
        for (const [i, row] of logits.entries()) {
          written.set(this.#windows[from + i], { logits: row, batchSize: to - from });
        }
      } catch (cause) {
        const error = toLehrError(cause, 'engine-failed');
        if (to - from === 1) {
          failures.set(this.#windows[from], error);
          return;
        }
        if (error.code === 'out-of-memory') tooMany = to - from;
        const middle = from + Math.ceil((to - from) / 2);
        await run(from, middle);
        await run(middle, to);
      }
    };
    await run(0, tokens.length);
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
      whole:
        failures.size === 0 && [...written.values()].every(({ batchSize }) => batchSize === tokens.length),
      failures: [...failures].map(([window, error]) => ({ window, error })),
      tooMany,
    };
  }
}

/**
 * Who killed the engine? When it dies, everything that shared its last turn is suspect. Suspects are tried again in half
 * the batch, and half of that, until the one that crashes alone is found; its neighbours finish. Pure bookkeeping.
 */
import type { SampleId } from '../engine/protocol.ts';

/** Crashes one sample may be near, whatever the batch size; a guard against anything the halving cannot explain. */
const MAX_CRASHES = 6;
/**
 * Signals that come from outside the process (an operator, the OOM killer): one of them is no proof against a sample that
 * happened to be alone, a second one is.
 */
const FROM_OUTSIDE: readonly string[] = ['SIGKILL', 'SIGTERM', 'SIGINT'];

interface Suspect {
  crashes: number;
  crashesAlone: number;
  maxBatchMates: number;
}

export interface Verdict {
  /** Fail these: they crashed the engine. */
  readonly guilty: readonly SampleId[];
}

export class Suspicion {
  readonly #suspects = new Map<SampleId, Suspect>();

  /** Notes a crash during a turn of these samples. */
  crashed(turn: readonly SampleId[], signal: string | null): Verdict {
    const fromOutside = signal !== null && FROM_OUTSIDE.includes(signal);
    const guilty: SampleId[] = [];
    for (const sample of turn) {
      const before = this.#suspects.get(sample);
      const suspect = {
        crashes: (before?.crashes ?? 0) + 1,
        crashesAlone: (before?.crashesAlone ?? 0) + (turn.length === 1 ? 1 : 0),
        maxBatchMates: Math.max(1, Math.floor(turn.length / 2)),
      };
      this.#suspects.set(sample, suspect);
      if (suspect.crashesAlone >= (fromOutside ? 2 : 1) || suspect.crashes >= MAX_CRASHES)
        guilty.push(sample);
    }
    return { guilty };
  }

  /** The most samples that may share a lane with this one, itself included. */
  maxBatchMates(sample: SampleId): number {
    return this.#suspects.get(sample)?.maxBatchMates ?? Number.MAX_SAFE_INTEGER;
  }

  forget(sample: SampleId): void {
    this.#suspects.delete(sample);
  }
}

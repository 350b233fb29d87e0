/**
 * Finds the sample that crashes the engine. Every sample that the engine was working on when it died is a suspect. Suspects
 * run again in batches of half the size, and half of that, until the sample that crashes alone is found; the others finish.
 */
import type { SampleId } from '../../engine/protocol/messages.ts';

/** Crashes after which a sample fails whatever the batch size; a guard for crashes that halving cannot explain. */
const MAX_CRASHES = 6;
/**
 * Signals that come from outside the process (an operator, the OOM killer). One of them proves nothing against a sample that
 * was alone in its batch; a second one does.
 */
const OUTSIDE_SIGNALS: readonly string[] = ['SIGKILL', 'SIGTERM', 'SIGINT'];

interface Suspect {
  /** How many samples each batch had in which it crashed. */
  batches: readonly number[];
  crashesAlone: number;
  maxBatchMates: number;
}

export class CrashSuspects {
  readonly #suspects = new Map<SampleId, Suspect>();

  /** Notes a crash while the engine worked on these samples. Returns those that must fail. */
  crashed(running: readonly SampleId[], signal: string | null): readonly SampleId[] {
    const isFromOutside = signal !== null && OUTSIDE_SIGNALS.includes(signal);
    const failing: SampleId[] = [];
    for (const sample of running) {
      const before = this.#suspects.get(sample);
      const suspect = {
        batches: [...(before?.batches ?? []), running.length],
        crashesAlone: (before?.crashesAlone ?? 0) + (running.length === 1 ? 1 : 0),
        maxBatchMates: Math.max(1, Math.floor(running.length / 2)),
      };
      this.#suspects.set(sample, suspect);
      const isProven = suspect.crashesAlone >= (isFromOutside ? 2 : 1);
      if (isProven || suspect.batches.length >= MAX_CRASHES) failing.push(sample);
    }
    return failing;
  }

  /** The most samples that may share a batch with this one, itself included. */
  maxBatchMates(sample: SampleId): number {
    return this.#suspects.get(sample)?.maxBatchMates ?? Number.MAX_SAFE_INTEGER;
  }

  /** How many samples each of the crashed batches with this one had, in order. */
  crashedBatches(sample: SampleId): readonly number[] {
    return this.#suspects.get(sample)?.batches ?? [];
  }

  forget(sample: SampleId): void {
    this.#suspects.delete(sample);
  }
}

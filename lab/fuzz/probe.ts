/**
 * Loaded into the API process ahead of its program: answers messages of the fuzzer with how long the event loop was blocked and how
 * much memory is in use. The program itself is the one that ships.
 */
import { measureOwnDelay } from '../../test/support/own-delay.ts';

export interface ProbeQuestion {
  readonly id: number;
  /** Collects garbage before memory is measured. */
  readonly collectsGarbage: boolean;
}

export interface ProbeAnswer {
  readonly id: number;
  /** The longest time that the event loop was blocked since the last answer. */
  readonly blockedMs: number;
  readonly rssBytes: number;
}

const blockedMs = measureOwnDelay();

process.on('message', ({ id, collectsGarbage }: ProbeQuestion) => {
  // Read first: collecting garbage blocks the loop too, and is not the fault of a request.
  const blocked = blockedMs({ forget: true });
  if (collectsGarbage) globalThis.gc?.();
  const answer: ProbeAnswer = { id, blockedMs: blocked, rssBytes: process.memoryUsage.rss() };
  process.send?.(answer);
  if (collectsGarbage) setTimeout(() => blockedMs({ forget: true }), 0);
});
// The probe alone must not keep the process running.
process.channel?.unref();

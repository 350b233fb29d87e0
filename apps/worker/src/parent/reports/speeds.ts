/** The speed of each lane, measured from its steps. The API estimates waits from it. */
import type { TranscribedMessage } from '../../engine/protocol/messages.ts';

/** Log-mel frames. */
const FRAMES_PER_S = 100;
/** Weight of the newest step. */
const SMOOTHING = 0.1;
/** The most lanes remembered; the lane that ran longest ago is dropped first. */
const MAX_LANES_KEPT = 64;

export class LaneSpeeds {
  readonly #rowStepsPerS = new Map<string, number>();

  stepped(lane: string, rows: number, ms: number): void {
    const now = (rows / Math.max(ms, 0.001)) * 1000;
    const before = this.#rowStepsPerS.get(lane) ?? now;
    this.#rowStepsPerS.delete(lane);
    this.#rowStepsPerS.set(lane, before + SMOOTHING * (now - before));
    if (this.#rowStepsPerS.size > MAX_LANES_KEPT)
      this.#rowStepsPerS.delete(this.#rowStepsPerS.keys().next().value as string);
  }

  /** A row-step of speech is a second of audio; the prices of the API (jobs/price.ts) rely on it. */
  transcribed(lane: string | undefined, { advanceFrames, batchSize, timings }: TranscribedMessage): void {
    if (lane === undefined) return;
    const seconds = advanceFrames / FRAMES_PER_S;
    this.stepped(lane, seconds * batchSize, timings.decodedAt - timings.encodedAt);
  }

  /** Lanes by when they last ran, oldest first. */
  get lanes(): { lane: string; rowStepsPerS: number }[] {
    return [...this.#rowStepsPerS].map(([lane, rowStepsPerS]) => ({ lane, rowStepsPerS }));
  }
}

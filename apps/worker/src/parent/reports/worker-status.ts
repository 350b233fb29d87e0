/** The part of a worker's report to the fleet that describes its lanes and models. */
import type { WorkerStatus } from '@lehr/shared';
import type { OpenedModel, TranscribedMessage, UnavailableModel } from '../../engine/protocol/messages.ts';
import type { LaneRows } from '../runs/lane-rows.ts';

export type LaneStatus = WorkerStatus['lanes'][number];
type ModelStatus = WorkerStatus['models'][number];

/** A lane has no speed before its first step. */
export function laneStatus(laneRows: LaneRows, speeds: LaneSpeeds): LaneStatus[] {
  const measured = new Map(speeds.lanes.map(({ lane, rowStepsPerS }) => [lane, rowStepsPerS]));
  return [...new Set([...measured.keys(), ...laneRows.lanes])].map((lane) => ({
    queue: lane,
    row_cap: laneRows.cap(lane),
    ...laneRows.usage(lane),
    row_steps_per_s: measured.get(lane) ?? 0,
  }));
}

export const modelStatus = (models: readonly OpenedModel[]): ModelStatus[] =>
  models.map(({ ref, batching, graphs, maxPromptTokens, ...parts }) => {
    const adapters = unusable(parts.adapters);
    const controls = unusable(parts.controls);
    return {
      ref,
      batching,
      providers: Object.fromEntries(graphs.map(({ graph, provider }) => [graph, provider])),
      ...(maxPromptTokens !== undefined && { max_prompt_tokens: maxPromptTokens }),
      ...(adapters.length > 0 && { unusable_adapters: adapters }),
      ...(controls.length > 0 && { unusable_controls: controls }),
    };
  });

const unusable = (parts: OpenedModel['adapters'] = []) =>
  parts.flatMap(({ name, problem: reason }) => (reason === undefined ? [] : [{ name, reason }]));

/** The engine only knows that a folder is not there; the fetcher knows why. */
export const unavailableStatus = (
  models: readonly UnavailableModel[],
  whyNotFetched: (ref: string) => string | undefined = () => undefined,
): WorkerStatus['unavailable'] =>
  models.map(({ ref, failure }) => ({ ref, reason: whyNotFetched(ref) ?? failure.message }));

/** Log-mel frames. */
const FRAMES_PER_S = 100;
/** Weight of the newest step. */
const SMOOTHING = 0.1;
/** The most lanes remembered; the lane that ran longest ago is dropped first. */
const MAX_LANES_KEPT = 64;

/** The speed of each lane, measured from its steps. The API estimates waits from it. */
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

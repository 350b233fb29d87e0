/** The part of a worker's report to the fleet that describes its lanes and models. */
import type { WorkerStatus } from '@lehr/shared';
import type { OpenedModel, UnavailableModel } from '../../engine/protocol/messages.ts';
import type { LaneRows } from '../runs/lane-rows.ts';
import type { LaneSpeeds } from './speeds.ts';

export type LaneStatus = WorkerStatus['lanes'][number];
export type ModelStatus = WorkerStatus['models'][number];

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
  models.map(({ ref, batching, graphs, maxPromptTokens }) => ({
    ref,
    batching,
    providers: Object.fromEntries(graphs.map(({ graph, provider }) => [graph, provider])),
    ...(maxPromptTokens !== undefined && { max_prompt_tokens: maxPromptTokens }),
  }));

/** The engine only knows that a folder is not there; the fetcher knows why. */
export const unavailableStatus = (
  models: readonly UnavailableModel[],
  whyNotFetched: (ref: string) => string | undefined = () => undefined,
): WorkerStatus['unavailable'] =>
  models.map(({ ref, failure }) => ({ ref, reason: whyNotFetched(ref) ?? failure.message }));

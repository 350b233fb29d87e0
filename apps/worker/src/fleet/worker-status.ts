/** The part of a worker's report to the fleet that describes its lanes and models. */
import type { WorkerStatus } from '@lehr/shared';
import type { OpenedModel, UnavailableModel } from '../engine/protocol.ts';
import type { LaneRows } from '../runs/lane-rows.ts';
import type { LaneSpeeds } from './speeds.ts';

export type LaneStatus = WorkerStatus['lanes'][number];
export type ModelStatus = WorkerStatus['models'][number];

export const laneStatus = (laneRows: LaneRows, speeds: LaneSpeeds): LaneStatus[] =>
  speeds.lanes.map(({ lane, rowStepsPerS }) => ({
    queue: lane,
    row_cap: laneRows.cap(lane),
    ...laneRows.usage(lane),
    row_steps_per_s: rowStepsPerS,
  }));

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

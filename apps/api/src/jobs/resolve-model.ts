/** The model and version of a job: as named, else as the rollout of the model says, else by the weights in models.yaml. */
import { hash } from 'node:crypto';
import {
  formatModelRef,
  type JobId,
  type ModelEntry,
  type ModelRef,
  type Registry,
  type TextJobType,
  type WorkerStatus,
} from '@lehr/shared';
import { formatShare } from '@lehr/shared/records';
import { fleetIndex } from '../fleet/fleet-index.ts';
import { assignVersion } from '../rollouts/assign.ts';
import type { StoredRollout } from '../rollouts/rollout.ts';

export interface ResolvedModel<Model extends ModelEntry = ModelEntry> {
  readonly model: Model;
  readonly ref: ModelRef;
  /** Present when a rollout that is under way chose the version: makes the record's field of the expected engine ms. */
  readonly share?: ((expectedMs: number) => string) | undefined;
}

interface ChoiceContext {
  readonly tenant: string;
  readonly keyId: string;
  readonly job: JobId;
  readonly fleet: readonly WorkerStatus[];
  readonly rollouts: ReadonlyMap<string, StoredRollout>;
}

/** `wanted` is `name`, `name@version` or undefined for the default model of the task. Throws `model-not-found`. */
export function resolveModel<Task extends ModelEntry['task']>(
  registry: Registry,
  context: ChoiceContext,
  task: Task,
  wanted: string | undefined,
  type?: TextJobType,
): ResolvedModel<Extract<ModelEntry, { task: Task }>> {
  const { model, ref } = registry.resolve(task, wanted, fractionOf(context.job), type);
  const rollout = context.rollouts.get(model.name);
  if (!rollout || wanted?.includes('@')) return { model, ref };
  const isServed = (version: string): boolean =>
    fleetIndex(context.fleet).available(formatModelRef({ name: model.name, version })) > 0;
  const assigned = assignVersion(rollout, model.versions, context, isServed);
  if (!assigned) return { model, ref };
  const { version, side } = assigned;
  return {
    model,
    ref: { name: model.name, version },
    share:
      side && ((expectedMs) => formatShare({ rollout: rollout.id, side, stage: rollout.stage, expectedMs })),
  };
}

/** From 0 up to 1, spread evenly over ids; without a rollout it decides which version of a model the job gets. */
export const fractionOf = (id: JobId): number => hash('sha256', id, 'buffer').readUInt32BE(0) / 2 ** 32;

/** Checks what an administrator wants of a rollout, and makes the step of it. Pure. */
import {
  LehrError,
  type LogEvidence,
  type ModelEntry,
  NO_EVIDENCE,
  type Registry,
  type RolloutAction,
  type RolloutChange,
  type RolloutRequest,
  type RolloutState,
} from '@lehr/shared';
import { refusal } from '../base/field-problems.ts';
import { isOpen, nextStage, type StoredRollout, servingVersion } from './rollout.ts';
import type { Analysis, RolloutStep } from './rollout-store.ts';

export interface DeployContext {
  readonly registry: Registry;
  readonly model: string;
  /** Live workers that take jobs of a version. */
  readonly workersOf: (version: string) => number;
  /** Of a new rollout. */
  readonly newId: () => string;
  /** ms. */
  readonly now: number;
  readonly by: string | null;
}

/** Throws `model-not-found`, `invalid-input` and `conflict`. */
export function deployStep(
  context: DeployContext,
  request: RolloutRequest,
  current: StoredRollout | undefined,
  { evidence }: Pick<Analysis, 'evidence'>,
): RolloutStep {
  const entry = entryOf(context.registry, context.model);
  const { version: canary } = request;
  checkOffered(entry, '/version', canary);
  const open = isOpen(current) ? current : undefined;
  if (open && open.canary !== canary) {
    throw new LehrError(
      'conflict',
      `A rollout of ${context.model}@${open.canary} is ${open.state}: promote it or roll it back first.`,
    );
  }
  const stable = open?.stable ?? stableOf(entry, request, current);
  if (open && request.stable !== undefined && request.stable !== open.stable) {
    throw refusal('invalid-input', [
      { pointer: '/stable', detail: `is ${open.stable} until this rollout is over` },
    ]);
  }
  if (canary === stable) {
    const others = entry.versions.map(({ version }) => version).filter((version) => version !== stable);
    const detail = `is the stable version already; must be one of: ${others.join(', ') || 'none, add a version to models.yaml'}`;
    throw refusal('invalid-input', [{ pointer: '/version', detail }]);
  }
  const plan = planOf(request, open);
  const weight = request.weight ?? open?.weight ?? plan.steps[0] ?? 0;
  if (!open && weight === 0) {
    const detail = 'must be more than 0 for a new rollout';
    throw refusal('invalid-input', [{ pointer: '/weight', detail }]);
  }
  checkPlan(plan, weight);
  checkServed(context, canary);
  const { now, by } = context;
  const { reason = null, sticky_by = open?.sticky_by ?? 'key' } = request;
  return {
    action: open ? 'changed' : 'deployed',
    reason,
    after: {
      id: open?.id ?? context.newId(),
      model: context.model,
      stable,
      canary,
      weight,
      sticky_by,
      state: open?.state ?? 'running',
      created_at: open?.created_at ?? now,
      changed_at: now,
      changed_by: by,
      reason,
      ...plan,
      ...(open ? stageAfter(open, { weight, sticky_by }, evidence) : FIRST_STAGE),
    },
  };
}

const FIRST_STAGE = { stage: 1, carried: NO_EVIDENCE } as const;

/** A request that is repeated, or changes only the plan or the reason, keeps the stage with its counts. */
function stageAfter(
  open: StoredRollout,
  { weight, sticky_by }: Pick<StoredRollout, 'weight' | 'sticky_by'>,
  evidence: LogEvidence,
): Pick<StoredRollout, 'stage' | 'carried'> {
  const isSame = weight === open.weight && sticky_by === open.sticky_by;
  return isSame ? { stage: open.stage, carried: open.carried } : nextStage(open, evidence);
}

type Plan = Pick<StoredRollout, 'auto_rollback' | 'promote_after' | 'steps'>;

function planOf(request: RolloutRequest, open: StoredRollout | undefined): Plan {
  const { promote_after = open?.promote_after ?? null } = request;
  return {
    auto_rollback: request.auto_rollback ?? open?.auto_rollback ?? true,
    promote_after,
    steps: request.steps ?? (promote_after === null ? [] : (open?.steps ?? [])),
  };
}

function checkPlan({ promote_after, steps }: Plan, weight: number): void {
  if (promote_after === null && steps.length > 0) {
    throw refusal('invalid-input', [{ pointer: '/steps', detail: 'needs promote_after' }]);
  }
  if (promote_after !== null && weight === 100) {
    const detail = 'must be less than 100 with promote_after, so that there are jobs to compare with';
    throw refusal('invalid-input', [{ pointer: '/weight', detail }]);
  }
}

/** From which state a rollout may come into another one, and what that is called. */
const CHANGES: Readonly<Record<RolloutState, { action: RolloutAction; from: readonly RolloutState[] }>> = {
  running: { action: 'resumed', from: ['paused'] },
  paused: { action: 'paused', from: ['running'] },
  promoted: { action: 'promoted', from: ['running', 'paused'] },
  'rolled-back': { action: 'rolled-back', from: ['running', 'paused', 'promoted'] },
};

/** Undefined when the rollout is in that state already. Throws `not-found` and `conflict`. */
export function changeStep(
  context: Pick<DeployContext, 'model' | 'workersOf' | 'now' | 'by'>,
  { state, reason, rollout }: RolloutChange,
  current: StoredRollout | undefined,
  { evidence }: Pick<Analysis, 'evidence'>,
): RolloutStep | undefined {
  if (!current) throw noRollout(context.model);
  if (rollout !== undefined && rollout !== current.id)
    throw new LehrError(
      'conflict',
      `The rollout of ${context.model} is ${current.id} by now, not ${rollout}.`,
    );
  if (current.state === state) return undefined;
  const { action, from } = CHANGES[state];
  if (!from.includes(current.state)) {
    const allowed = Object.entries(CHANGES).filter(([, each]) => each.from.includes(current.state));
    const names = allowed.map(([name]) => name).join(', ') || 'none; deploy a version again';
    throw new LehrError(
      'conflict',
      `The rollout of ${context.model} is ${current.state} and cannot become ${state}. Possible: ${names}.`,
    );
  }
  if (state === 'promoted') checkServed(context, current.canary);
  const { rev: _, v: __, ...before } = current;
  const { now, by } = context;
  const changed = { state, changed_at: now, changed_by: by, reason: reason ?? null };
  const after = { ...before, ...changed, ...nextStage(current, evidence) };
  return { action, reason: reason ?? null, after };
}

/** Then the weights in models.yaml decide again. Throws `not-found`. */
export function removeStep(model: string, current: StoredRollout | undefined): RolloutStep {
  if (!current) throw noRollout(model);
  return { action: 'removed', after: undefined, reason: null };
}

export const noRollout = (model: string): LehrError =>
  new LehrError('not-found', `There is no rollout of ${model}.`);

function entryOf(registry: Registry, model: string): ModelEntry {
  const entry = registry.models.find(({ name }) => name === model);
  if (entry) return entry;
  const names = registry.models.map(({ name }) => name).join(', ') || 'none';
  throw new LehrError('model-not-found', `There is no model ${JSON.stringify(model)}. Offered: ${names}.`);
}

function checkOffered({ versions }: ModelEntry, pointer: string, wanted: string): void {
  const offered = versions.map(({ version }) => version);
  if (offered.includes(wanted)) return;
  throw refusal('invalid-input', [{ pointer, detail: `must be one of: ${offered.join(', ')}` }]);
}

function checkServed(
  { model, workersOf }: Pick<DeployContext, 'model' | 'workersOf'>,
  version: string,
): void {
  if (workersOf(version) > 0) return;
  throw new LehrError('conflict', `No live worker serves ${model}@${version}. Start one first.`);
}

/** The version that callers get now. */
function stableOf(
  entry: ModelEntry,
  { version: canary, stable }: RolloutRequest,
  current: StoredRollout | undefined,
): string {
  if (stable !== undefined) {
    checkOffered(entry, '/stable', stable);
    return stable;
  }
  if (current) return servingVersion(current);
  const weighted = entry.versions.filter(({ version, weight }) => weight > 0 && version !== canary);
  if (weighted.length === 1) return weighted[0].version;
  const others = entry.versions.map(({ version }) => version).filter((version) => version !== canary);
  const detail = `must be given, as one of: ${others.join(', ') || 'none, add a version to models.yaml'}`;
  throw refusal('invalid-input', [{ pointer: '/stable', detail }]);
}

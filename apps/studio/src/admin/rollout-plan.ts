/** What can be done with the versions of a model. Pure. */
import type { Rollout, RolloutChange } from '@lehr/client';

export interface ModelVersions {
  readonly name: string;
  readonly versions: readonly string[];
}

/** The versions by model, both in the order of the list; `refs` are `model@version`. */
export function versionsOf(refs: readonly { readonly model: string }[]): readonly ModelVersions[] {
  const found = new Map<string, string[]>();
  for (const { model } of refs) {
    const at = model.lastIndexOf('@');
    const [name, version] = [model.slice(0, at), model.slice(at + 1)];
    found.set(name, [...(found.get(name) ?? []), version]);
  }
  return [...found].map(([name, versions]) => ({ name, versions }));
}

/** Running or paused: its versions are fixed until it is over. */
export const isOpen = (rollout: Rollout | undefined): rollout is Rollout =>
  rollout?.state === 'running' || rollout?.state === 'paused';

/** The version that all callers get; undefined while they are split, and when models.yaml decides. */
export function onlyVersion(rollout: Rollout | undefined): string | undefined {
  if (!rollout) return undefined;
  if (rollout.state === 'promoted') return rollout.canary;
  return rollout.state === 'running' ? undefined : rollout.stable;
}

/** The share of the callers that get the canary now, in per cent. */
export function canaryShare({ state, weight }: Rollout): number {
  if (state === 'running') return weight;
  return state === 'promoted' ? 100 : 0;
}

export type Action = 'deploy' | 'share' | 'pause' | 'resume' | 'promote' | 'rollback';

/** In the order of the buttons; the first one is the main one. */
export function actionsOf(rollout: Rollout | undefined): readonly Action[] {
  if (!rollout) return ['deploy'];
  switch (rollout.state) {
    case 'running':
      return ['share', 'pause', 'promote', 'rollback'];
    case 'paused':
      return ['share', 'resume', 'promote', 'rollback'];
    case 'promoted':
      return ['deploy', 'rollback'];
    default:
      return ['deploy'];
  }
}

/** The states that the actions lead to, besides those that set a share. */
const STATES = {
  pause: 'paused',
  resume: 'running',
  promote: 'promoted',
  rollback: 'rolled-back',
} as const;

/** The request of an action that sets no share. */
export const changeOf = (action: Exclude<Action, 'deploy' | 'share'>, reason: string): RolloutChange => ({
  state: STATES[action],
  reason,
});

/** The rollouts of all models that have several versions, one card each. */
import type { Rollout } from '@lehr/client';
import { Trouble } from '../parts/panel.tsx';
import { lehrOnce } from '../wire/lehr.ts';
import { useReading } from '../wire/reading.ts';
import { RolloutCard } from './rollout-card.tsx';
import { versionsOf } from './rollout-plan.ts';

const EVERY_MS = 2_000;

interface RolloutsProps {
  /** All versions of all models, as `model@version`. */
  readonly refs: readonly { readonly model: string }[];
}

export function Rollouts({ refs }: RolloutsProps) {
  const { value, fault, isLost } = useReading(lehrOnce.rollouts.list, EVERY_MS);
  const changed = (rollout: Rollout): void => {
    value.value = [...(value.value ?? []).filter(({ model }) => model !== rollout.model), rollout];
  };
  const split = versionsOf(refs).filter(({ versions }) => versions.length > 1);
  if (split.length === 0) return null;
  return (
    <>
      <Trouble isLost={isLost} fault={fault} />
      {value.value &&
        split.map((model) => (
          <RolloutCard
            key={model.name}
            model={model}
            rollout={value.value?.find((each) => each.model === model.name)}
            onChanged={changed}
          />
        ))}
    </>
  );
}

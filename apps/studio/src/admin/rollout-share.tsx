/** The slider of the share of the callers that get the new version. */
import type { Signal } from '@preact/signals';
import { texts } from '../texts/index.ts';

const words = texts.rollouts;

/** What the form of a rollout has; undefined fields are those of the rollout. */
export interface Draft {
  readonly canary: string | undefined;
  readonly stable: string | undefined;
  readonly weight: number | undefined;
}

interface ShareProps {
  readonly id: string;
  readonly weight: number;
  readonly draft: Signal<Draft>;
}

export function Share({ id, weight, draft }: ShareProps) {
  return (
    <div class="field rollout-share">
      <label class="field-name" for={id}>
        {words.weight}
      </label>
      <output for={id}>{words.weightOf(weight)}</output>
      <input
        id={id}
        class="range-slider"
        type="range"
        min={0}
        max={100}
        step={1}
        value={weight}
        aria-valuetext={words.weightOf(weight)}
        style={{ '--part': `${weight}%` }}
        onInput={(event) => {
          draft.value = { ...draft.value, weight: Number(event.currentTarget.value) };
        }}
      />
    </div>
  );
}

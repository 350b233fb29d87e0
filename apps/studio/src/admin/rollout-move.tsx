/** The box that has the waiting jobs moved, too, when a version is promoted or rolled back. */
import type { Signal } from '@preact/signals';
import { texts } from '../texts/index.ts';

const words = texts.rollouts;

interface MoveQueuedProps {
  readonly id: string;
  readonly isChosen: Signal<boolean>;
}

export function MoveQueued({ id, isChosen }: MoveQueuedProps) {
  return (
    <div class="rollout-move">
      <input
        id={id}
        type="checkbox"
        checked={isChosen.value}
        aria-describedby={`${id}-hint`}
        onChange={(event) => {
          isChosen.value = event.currentTarget.checked;
        }}
      />
      <label class="rollout-move-name" for={id}>
        {words.moveQueued}
      </label>
      <p id={`${id}-hint`} class="hint">
        {words.moveHint}
      </p>
    </div>
  );
}

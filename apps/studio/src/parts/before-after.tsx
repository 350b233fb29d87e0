/** Two pictures, one above the other, with a slider that uncovers more of the first or of the second. */
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { texts } from '../texts/index.ts';

interface BeforeAfterProps {
  /** A picture that fills the same place. */
  readonly before: ComponentChildren;
  readonly after: ComponentChildren;
}

export function BeforeAfter({ before, after }: BeforeAfterProps) {
  // Most of the new picture, and enough of the old one to see that there is one.
  const part = useSignal(25);
  return (
    <div class="before-after" style={{ '--part': `${part.value}%` }}>
      {after}
      <div class="before">{before}</div>
      <span class="before-after-name" aria-hidden="true">
        {texts.edit.before}
      </span>
      <span class="before-after-name" aria-hidden="true">
        {texts.edit.after}
      </span>
      <input
        type="range"
        min={0}
        max={100}
        value={part.value}
        aria-label={texts.edit.compare}
        aria-valuetext={texts.edit.beforeShare(part.value)}
        onInput={(event) => {
          part.value = Number(event.currentTarget.value);
        }}
      />
    </div>
  );
}

/** Shows the first lines of its child, which holds a text, and a button for the others where there are any. */
import { useSignal } from '@preact/signals';
import type { ComponentChild } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { texts } from '../texts/index.ts';

interface ClampedProps {
  readonly lines: number;
  readonly children: ComponentChild;
}

export function Clamped({ lines, children }: ClampedProps) {
  const box = useRef<HTMLDivElement>(null);
  const isLong = useSignal(false);
  const isWhole = useSignal(false);
  useEffect(() => {
    const text = box.current?.firstElementChild;
    // How many lines a text takes depends on the width.
    const sizes = new ResizeObserver(() => {
      if (text && !isWhole.value) isLong.value = text.scrollHeight > text.clientHeight + 1;
    });
    if (text) sizes.observe(text);
    return () => sizes.disconnect();
  }, [children]);
  const turn = (): void => {
    isWhole.value = !isWhole.value;
  };
  return (
    <div ref={box} class="clamped" data-whole={isWhole.value} style={{ '--lines': lines }}>
      {children}
      {isLong.value && (
        <button type="button" class="show-all" aria-expanded={isWhole.value} onClick={turn}>
          {isWhole.value ? texts.showLess : texts.showAll}
        </button>
      )}
    </div>
  );
}

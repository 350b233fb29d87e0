/** A link between views. It is a real link: it can be opened in a new tab. */
import type { ComponentChildren } from 'preact';
import { go, type Place, pathOf } from '../shell/router.ts';

interface LinkProps {
  readonly to: Place;
  readonly class?: string;
  readonly current?: boolean;
  readonly children: ComponentChildren;
}

export function Link({ to, class: name, current, children }: LinkProps) {
  const onClick = (event: MouseEvent): void => {
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    go(to);
  };
  return (
    <a class={name} href={pathOf(to)} onClick={onClick} aria-current={current ? 'page' : undefined}>
      {children}
    </a>
  );
}

/** The canvas of one chart, as wide as its card and as high as there is room. The table below it says the same in words. */
import { useEffect, useRef } from 'preact/hooks';
import { theme } from '../shell/theme.ts';
import { type Plot, type PlotOptions, plot } from './plot.ts';

const DARK = matchMedia('(prefers-color-scheme: dark)');

export function PlotArea(options: PlotOptions) {
  const host = useRef<HTMLDivElement>(null);
  const drawn = useRef<Plot>(undefined);
  const { lines, times } = options;
  useEffect(() => {
    if (!host.current) return;
    const next = plot(host.current, options);
    drawn.current = next;
    return () => next.destroy();
  }, [lines, times]);
  useEffect(() => {
    const place = host.current;
    if (!place) return;
    const watcher = new ResizeObserver(() => drawn.current?.resize());
    watcher.observe(place);
    const redraw = (): void => drawn.current?.redraw();
    DARK.addEventListener('change', redraw);
    return () => {
      watcher.disconnect();
      DARK.removeEventListener('change', redraw);
    };
  }, []);
  const chosen = theme.value;
  useEffect(() => drawn.current?.redraw(), [chosen]);
  return <div ref={host} class="plot" aria-hidden="true" />;
}

/**
 * Which tiles of a long grid are in the page: those that are seen, and some rows around them. All rows have one height, so this is a
 * division, and needs no library for lists whose heights are unknown.
 */
import { useSignal } from '@preact/signals';
import type { RefObject } from 'preact';
import { useEffect } from 'preact/hooks';

export interface Shown {
  /** Indexes of tiles: the first one, and the one after the last. */
  readonly from: number;
  readonly to: number;
  /** Pixels that the tiles before and after would take. */
  readonly before: number;
  readonly after: number;
}

export interface Grid {
  readonly count: number;
  readonly columns: number;
  /** Pixels from the top of a row to the top of the next one. */
  readonly pitch: number;
  /** Pixels of the grid that are above the upper edge of the window; negative when it begins below. */
  readonly above: number;
  /** Pixels of the window. */
  readonly height: number;
}

/** Rows around those that are seen, so that a quick turn of the wheel meets tiles. */
const AROUND = 2;
/** Until the size of a tile is known. */
const FIRST: Shown = { from: 0, to: 24, before: 0, after: 0 };

export function shownOf({ count, columns, pitch, above, height }: Grid): Shown {
  const rows = Math.ceil(count / columns);
  const clamp = (row: number): number => Math.min(rows, Math.max(0, row));
  const first = clamp(Math.floor(above / pitch) - AROUND);
  const end = clamp(Math.ceil((above + height) / pitch) + AROUND);
  return {
    from: first * columns,
    to: Math.min(count, end * columns),
    before: first * pitch,
    after: (rows - end) * pitch,
  };
}

/** `list` must hold the tiles as its children and lay them out as a grid, and its parent must keep the room before and after them. */
export function useShownTiles(list: RefObject<HTMLElement | null>, count: number): Shown {
  const shown = useSignal(FIRST);
  useEffect(() => {
    let frame = 0;
    const measure = (): void => {
      frame = 0;
      const grid = list.current && gridOf(list.current, count);
      // A search may leave fewer jobs than come before the place where the page was.
      const next = grid ? shownOf(grid) : FIRST;
      const { from, to, after } = shown.value;
      if (next.from !== from || next.to !== to || next.after !== after) shown.value = next;
    };
    const soon = (): void => {
      frame ||= requestAnimationFrame(measure);
    };
    measure();
    const sizes = new ResizeObserver(soon);
    if (list.current) sizes.observe(list.current);
    addEventListener('scroll', soon, { passive: true });
    addEventListener('resize', soon);
    return () => {
      cancelAnimationFrame(frame);
      sizes.disconnect();
      removeEventListener('scroll', soon);
      removeEventListener('resize', soon);
    };
  }, [count]);
  return shown.value;
}

/** Undefined while there is no tile to measure. */
function gridOf(list: HTMLElement, count: number): Grid | undefined {
  const tile = list.firstElementChild as HTMLElement | null;
  const room = list.parentElement;
  if (!tile || !room || count === 0) return undefined;
  const style = getComputedStyle(list);
  const columns = style.gridTemplateColumns.split(' ').length;
  const pitch = tile.offsetHeight + Number.parseFloat(style.rowGap);
  return { count, columns, pitch, above: -room.getBoundingClientRect().top, height: innerHeight };
}

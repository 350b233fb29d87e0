/** Draws lines over time. The only importer of uPlot; the room is loaded when the view is opened. */
import uPlot from 'uplot';
import { tickText } from './format.ts';
import type { Line } from './lines.ts';

export interface PlotOptions {
  readonly lines: readonly Line[];
  /** Unix seconds of each point. */
  readonly times: readonly number[];
  readonly format: (value: number) => string;
  /** The point that is pointed at, in this plot or in another one. */
  readonly onPoint: (index: number | undefined) => void;
}

export interface Plot {
  resize(): void;
  /** After a change of the theme. */
  redraw(): void;
  destroy(): void;
}

const LEFT_PX = 54;
const BELOW_PX = 26;
const LETTERS = '12px ui-sans-serif, system-ui, sans-serif';

export function plot(host: HTMLElement, { lines, times, format, onPoint }: PlotOptions): Plot {
  const rangeS = (times.at(-1) ?? 0) - (times[0] ?? 0);
  const axis = {
    font: LETTERS,
    stroke: () => colourOf(host, '--ink-soft'),
    grid: { stroke: () => colourOf(host, '--line'), width: 1 },
    ticks: { show: false },
  };
  const options: uPlot.Options = {
    width: host.clientWidth,
    height: host.clientHeight,
    padding: [10, 18, 0, 0],
    legend: { show: false },
    cursor: {
      sync: { key: 'charts' },
      drag: { x: false, y: false },
      y: false,
      points: { size: 7, width: 0 },
    },
    // From zero, so that heights can be compared.
    scales: { y: { range: (_plot, _min, max) => [0, max > 0 ? max * 1.1 : 1] } },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: BELOW_PX,
        space: 64,
        values: (_plot, splits) => splits.map((at) => tickText(at, rangeS)),
      },
      { ...axis, size: LEFT_PX, space: 34, values: (_plot, splits) => splits.map(format) },
    ],
    series: [{}, ...lines.map((line) => seriesOf(host, line, lines.length === 1))],
    hooks: { setCursor: [({ cursor }) => onPoint(cursor.idx ?? undefined)] },
  };
  const data = [times, ...lines.map(({ values }) => values)] as unknown as uPlot.AlignedData;
  const drawn = new uPlot(options, data, host);
  return {
    resize: () => drawn.setSize({ width: host.clientWidth, height: host.clientHeight }),
    redraw: () => drawn.redraw(false, true),
    destroy: () => drawn.destroy(),
  };
}

const seriesOf = (host: HTMLElement, { colour }: Line, isAlone: boolean): uPlot.Series => ({
  stroke: () => colourOf(host, colour),
  width: 2,
  ...(isAlone && { fill: () => colourOf(host, colour, 0.12) }),
  points: { show: true, size: 5, filter: isolatedPoints },
});

/** A point between two without a value has no line. */
function isolatedPoints({ data }: uPlot, index: number): number[] | null {
  const values = data[index];
  const isolated: number[] = [];
  for (let i = 0; i < values.length; i += 1) {
    if (values[i] != null && values[i - 1] == null && values[i + 1] == null) isolated.push(i);
  }
  return isolated;
}

/** A token as a colour that a canvas understands: the browser resolves what it means in this theme. */
function colourOf(host: HTMLElement, token: string, alpha = 1): string {
  const probe = document.createElement('span');
  probe.style.color =
    alpha === 1 ? `var(${token})` : `color-mix(in srgb, var(${token}) ${alpha * 100}%, transparent)`;
  host.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

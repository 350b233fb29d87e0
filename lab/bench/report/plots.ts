/** Charts as SVG. Colours are variables of the page's style sheet, so that one picture serves light and dark. */
import * as Plot from '@observablehq/plot';
import { parseHTML } from 'linkedom';
import { type Chart, type LineChart, rounded, type Series, type StackChart } from '../charts.ts';

const WIDTH = 640;
const HEIGHT = 330;
const BAR_HEIGHT = 46;

export interface LegendEntry {
  readonly name: string;
  /** A CSS colour. */
  readonly colour: string;
}

export interface Drawing {
  readonly svg: string;
  readonly legend: readonly LegendEntry[];
}

export const draw = (chart: Chart): Drawing => (chart.kind === 'lines' ? lines(chart) : stack(chart));

/** Of series without a role: so many differ well enough in light and dark; more begin again. */
const FREE_COLOURS = 6;

/** `lehr` and `baseline` keep their colours, the others get the free ones in order. */
export function coloursOf(series: readonly Pick<Series, 'name' | 'role'>[]): Map<string, string> {
  let next = 0;
  return new Map(
    series.map(({ name, role }) => [
      name,
      role ? `var(--${role})` : `var(--series-${next++ % FREE_COLOURS})`,
    ]),
  );
}

function lines({ x, y, series }: LineChart): Drawing {
  const colours = coloursOf(series);
  const colourOf = (name: string): string => colours.get(name) ?? 'currentColor';
  const marks = series.flatMap(({ name, role, dots, points }) => {
    const data = points.map(([at, value]) => ({ at, value }));
    const title = ({ at, value }: { at: number; value: number }): string =>
      `${name}\n${x.label}: ${rounded(at)}\n${y.label}: ${rounded(value)}`;
    const dot = Plot.dot(data, { x: 'at', y: 'value', fill: colourOf(name), r: dots ? 4 : 2.2, title });
    const line = { x: 'at', y: 'value', stroke: colourOf(name), strokeWidth: role === 'lehr' ? 2.6 : 2 };
    return dots ? [dot] : [Plot.line(data, { ...line, strokeLinejoin: 'round' }), dot];
  });
  const svg = plotOf({
    height: HEIGHT,
    marginLeft: 56,
    marginBottom: 44,
    x: {
      label: x.label,
      ...(x.isLog && { type: 'log', tickFormat: '~s' }),
      nice: !x.isLog,
      labelArrow: 'none',
    },
    y: {
      label: y.label,
      ...(y.isLog ? { type: 'log', tickFormat: '~s' } : { zero: true, nice: true }),
      labelArrow: 'none',
      grid: true,
      ticks: 6,
    },
    marks,
  });
  return { svg, legend: series.map(({ name }) => ({ name, colour: colourOf(name) })) };
}

function stack({ x, bars }: StackChart): Drawing {
  const names = [...new Set(bars.flatMap(({ parts }) => parts.map(({ name }) => name)))];
  const colours = new Map(names.map((name, i) => [name, `var(--part-${i % 8})`]));
  const data = bars.flatMap(({ name: bar, parts }) => parts.map(({ name, value }) => ({ bar, name, value })));
  const svg = plotOf({
    height: 64 + bars.length * BAR_HEIGHT,
    marginLeft: 150,
    marginBottom: 44,
    x: { label: x.label, labelArrow: 'none', grid: true, nice: true },
    y: { label: null, domain: bars.map(({ name }) => name), padding: 0.28 },
    marks: [
      Plot.barX(data, {
        x: 'value',
        y: 'bar',
        fill: ({ name }: { name: string }) => colours.get(name),
        insetLeft: 0.75,
        insetRight: 0.75,
        title: ({ bar, name, value }) => `${bar}\n${name}: ${rounded(value)} ${x.label}`,
      }),
    ],
    color: { type: 'identity' },
  });
  return { svg, legend: names.map((name) => ({ name, colour: colours.get(name) ?? '' })) };
}

function plotOf(options: Plot.PlotOptions): string {
  const { document } = parseHTML('<html><body></body></html>');
  const figure = Plot.plot({
    width: WIDTH,
    marginTop: 28,
    marginRight: 16,
    style: { background: 'none', fontSize: '12px', fontFamily: 'inherit', overflow: 'visible' },
    ...options,
    document: document as unknown as NonNullable<Plot.PlotOptions['document']>,
  });
  // The style sheet inside is the same in each plot; the page has it once.
  for (const style of figure.querySelectorAll('style')) style.remove();
  return figure.outerHTML;
}

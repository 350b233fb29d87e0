/** What a bench file gives the report besides its figures: data of charts, without any word on how they look. */

/** The part of the report that a chart belongs to. */
export type ChartPart = 'load' | 'waits' | 'batches' | 'device' | 'cost' | 'scale';

/** `lehr` and `baseline` have the same colours in every chart; all other series get the next free one. */
export type SeriesRole = 'lehr' | 'baseline';

export interface Series {
  readonly name: string;
  readonly role?: SeriesRole;
  /** Drawn as dots only: what was measured, beside a curve that was fitted. */
  readonly dots?: boolean;
  readonly points: readonly (readonly [x: number, y: number])[];
}

export interface Axis {
  /** With its unit. */
  readonly label: string;
  readonly isLog?: boolean;
}

interface AnyChart {
  readonly part: ChartPart;
  readonly title: string;
  /** What was measured, and how to read it. */
  readonly about: string;
  /** `simulated T4`, when no real device ran. */
  readonly device?: string;
}

export interface LineChart extends AnyChart {
  readonly kind: 'lines';
  readonly x: Axis;
  readonly y: Axis;
  readonly series: readonly Series[];
}

/** Bars side by side, each of stacked parts. */
export interface StackChart extends AnyChart {
  readonly kind: 'stack';
  readonly x: Axis;
  readonly bars: readonly {
    readonly name: string;
    readonly parts: readonly { readonly name: string; readonly value: number }[];
  }[];
}

export type Chart = LineChart | StackChart;

const MOST_POINTS = 120;

/** The share of values at or below each value, in percent; a long list becomes a shorter one with the same curve. */
export function distribution(values: readonly number[]): [x: number, y: number][] {
  const sorted = [...values].sort((a, b) => a - b);
  const all = sorted.map((value, i): [number, number] => [rounded(value), (100 * (i + 1)) / sorted.length]);
  const every = Math.max(1, Math.ceil(all.length / MOST_POINTS));
  // The last points are the slowest jobs, which are what such a curve is looked at for.
  const kept = all.filter((_, i) => i % every === 0 || i > all.length - 20);
  return kept.map(([x, y]) => [x, rounded(y)]);
}

/** Four significant digits, so that the results are short. */
export const rounded = (value: number): number => Number(value.toPrecision(4));

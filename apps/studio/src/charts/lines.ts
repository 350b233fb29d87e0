/** The lines of a chart with what is drawn and read of them. */
import type { Chart } from '@lehr/client';
import { texts } from '../texts/index.ts';

type Series = Chart['series'][number];

export interface Line {
  readonly name: string;
  readonly label: string;
  /** A token of tokens.css. */
  readonly colour: string;
  readonly values: Series['values'];
  /** Null where it has none at the end. */
  readonly last: number | null;
  readonly highest: number;
}

const COLOURS = ['--phase-2', '--phase-3', '--phase-4', '--phase-5', '--phase-6', '--phase-1', '--phase-0'];
/** Lines whose colour means something. */
const MEANING: Readonly<Record<string, string>> = {
  succeeded: '--good',
  failed: '--bad',
  canceled: '--phase-1',
  expired: '--phase-4',
  refused: '--phase-5',
  running: '--phase-3',
  queued: '--phase-2',
  _others: '--phase-0',
};

/** Colours follow the order of the names, so that a line keeps its colour when the values change. */
export function linesOf(series: readonly Series[]): Line[] {
  const free = COLOURS.filter((each) => !series.some(({ name }) => MEANING[name] === each));
  const others = series
    .map(({ name }) => name)
    .filter((name) => !(name in MEANING))
    .sort();
  const labels: Readonly<Record<string, string>> = texts.charts.lines;
  return series.map(({ name, values }) => ({
    name,
    label: labels[name] ?? name,
    colour: MEANING[name] ?? free[others.indexOf(name) % free.length],
    values,
    last: values.at(-1) ?? null,
    highest: Math.max(...values.filter((value) => value !== null)),
  }));
}

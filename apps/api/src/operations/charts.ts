/** The charts of the studio: each is a few queries of the closed list, over one of five ranges. */
import {
  CHART_NAMES,
  CHART_RANGES,
  type Chart,
  type ChartList,
  type ChartName,
  type ChartRange,
  type Clock,
  toLehrError,
} from '@lehr/shared';
import { Recent } from '../base/recent.ts';
import { type Line, queryRange, type Span } from './prometheus.ts';
import { CHARTS, type ChartQuery } from './queries.ts';

/** All viewers of a process share a reading. */
const TTL_MS = 5_000;
const MAX_LINES = 10;
/** Prometheus needs two scrapes in it. */
const MIN_WINDOW_S = 60;

type Series = Chart['series'][number];

export class ChartsView {
  readonly #url: string | undefined;
  readonly #clock: Clock;
  readonly #readings = new Map<ChartRange, Recent<ChartList>>();

  /** `url`: the base address of a Prometheus; undefined when there is none. */
  constructor(url: string | undefined, clock: Clock) {
    this.#url = url;
    this.#clock = clock;
  }

  /** Never rejects: each chart says by itself why it could not be read. */
  get(range: ChartRange): Promise<ChartList> {
    const known = this.#readings.get(range);
    if (known) return known.get();
    const reading = new Recent(() => this.#read(range), TTL_MS, this.#clock);
    this.#readings.set(range, reading);
    return reading.get();
  }

  async #read(range: ChartRange): Promise<ChartList> {
    const { rangeS, stepS } = CHART_RANGES[range];
    // On whole steps, so that the values of two readings are those of the same points in time.
    const to = Math.floor(this.#clock.now() / 1000 / stepS) * stepS;
    const span = { from: to - rangeS, to, stepS };
    const url = this.#url;
    return {
      object: 'charts',
      source: url === undefined ? null : 'prometheus',
      range,
      from: new Date(span.from * 1000).toISOString(),
      step_s: stepS,
      points: pointsOf(span),
      data: url === undefined ? [] : await Promise.all(CHART_NAMES.map((name) => readChart(url, name, span))),
    };
  }
}

const pointsOf = ({ from, to, stepS }: Span): number => (to - from) / stepS + 1;

async function readChart(url: string, name: ChartName, span: Span): Promise<Chart> {
  const { unit, queries } = CHARTS[name];
  try {
    const read = await Promise.all(queries.map((query) => readLines(url, query, span)));
    const series = read.flat().sort((a, b) => lastOf(b) - lastOf(a));
    const shown = series.slice(0, MAX_LINES);
    return { name, unit, series: shown, more_series: series.length - shown.length, problem: null };
  } catch (error) {
    return { name, unit, series: [], more_series: 0, problem: toLehrError(error).message };
  }
}

async function readLines(url: string, { expr, line }: ChartQuery, span: Span): Promise<Series[]> {
  const window = `${Math.max(MIN_WINDOW_S, span.stepS)}s`;
  const lines = await queryRange(url, expr.replaceAll('WINDOW', window), span);
  return lines
    .map((each) => ({
      name: 'name' in line ? line.name : (each.metric[line.label] ?? ''),
      values: valuesOf(each, span),
    }))
    .filter(({ values }) => values.some((value) => value !== null));
}

/** One value for each step; Prometheus leaves out the steps without one, and writes NaN where a rate of nothing is divided. */
function valuesOf({ values }: Line, span: Span): (number | null)[] {
  const filled: (number | null)[] = new Array(pointsOf(span)).fill(null);
  for (const [at, text] of values) {
    const value = Number(text);
    const i = Math.round((at - span.from) / span.stepS);
    if (i >= 0 && i < filled.length && Number.isFinite(value)) filled[i] = Number(value.toPrecision(6));
  }
  return filled;
}

const lastOf = ({ values }: Series): number => values.findLast((value) => value !== null) ?? 0;

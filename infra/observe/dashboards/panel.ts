/** A dashboard as data: questions that its panels answer, and the queries that answer them. */

/** Grafana's name of a unit. */
export type Unit = 's' | 'percentunit' | 'short' | 'bytes' | 'reqps' | 'celsius' | 'watt' | 'decmbytes';

export interface Panel {
  /** The question that it answers; Grafana shows it as the title. */
  readonly question: string;
  /** What to know to read the answer. */
  readonly help?: string;
  readonly unit: Unit;
  /** `lines` over time, `stacked` areas over time, or the last `number`. */
  readonly kind: 'lines' | 'stacked' | 'number';
  /** Of the 24 columns of a dashboard; 12 without it, 6 for a number. */
  readonly columns?: number;
  /** A number turns orange from the first of these on and red from the second. */
  readonly limits?: readonly [orange: number, red: number];
  /** Its events may not have happened since the processes started; the panel then says so. */
  readonly isRare?: boolean;
  readonly queries: readonly Query[];
}

export interface Query {
  /** PromQL. `$__rate_interval` is Grafana's window for rates; `$model` is the choice of the reader, a regular expression; `$price` a number. */
  readonly expr: string;
  /** Name of the line, with labels in braces: `{{model}}`. */
  readonly legend: string;
}

export interface Section {
  readonly title: string;
  readonly panels: readonly Panel[];
}

export interface DashboardFacts {
  /** File name and identity in Grafana. */
  readonly id: `lehr-${string}`;
  readonly title: string;
  /** Whether the reader can choose models. */
  readonly choosesModel?: boolean;
  /** Whether the reader can enter what an hour of an engine costs. */
  readonly asksPrice?: boolean;
  readonly sections: readonly Section[];
}

/** Queries by the legends of their lines. */
type Queries = Readonly<Record<Query['legend'], Query['expr']>>;
type More = Pick<Panel, 'help' | 'columns' | 'isRare'>;

const over =
  (kind: 'lines' | 'stacked') =>
  (question: string, unit: Unit, queries: Queries, more: More = {}): Panel => ({
    question,
    unit,
    kind,
    queries: Object.entries(queries).map(([legend, expr]) => ({ expr, legend })),
    ...more,
  });

export const lines = over('lines');
export const stacked = over('stacked');
export const number = (
  question: string,
  unit: Unit,
  expr: string,
  more: Pick<Panel, 'help' | 'limits'> = {},
): Panel => ({ question, unit, kind: 'number', queries: [{ expr, legend: '' }], ...more });

/** Events per second, one line for each value of `by`. */
export const rate = (counter: string, by: string, labels = ''): string =>
  `sum by (${by}) (rate(${counter}${labels}[$__rate_interval]))`;

/** The quantile of a histogram, one line for each value of `by`. */
export function quantile(q: number, histogram: string, by = '', labels = ''): string {
  const group = by === '' ? 'le' : `le, ${by}`;
  return `histogram_quantile(${q}, sum by (${group}) (rate(${histogram}_bucket${labels}[$__rate_interval])))`;
}

export const quantiles = (of: readonly number[], histogram: string, labels = ''): Queries =>
  Object.fromEntries(of.map((q) => [`p${q * 100}`, quantile(q, histogram, '', labels)]));

/** The labels of the models that the reader chose. */
export const CHOSEN = '{model=~"$model"}';

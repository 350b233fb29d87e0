/**
 * Benchmarks as ratios: two sides do the same work in alternation within one run, so that other load of the machine affects
 * both. A round runs each side once, in alternating order, and gives one ratio; a figure is the median of its rounds.
 *
 * A bench file exports `figures`; `npm run lab -- bench` runs each file in a separate process and prints one table.
 */
import { load, machineName } from '../results.ts';

/** Does one round of work and returns its result in the unit of the figure. */
export type Side = () => Promise<number> | number;

export type Target = { readonly atLeast: number } | { readonly atMost: number };

interface AnyFigure {
  readonly name: string;
  /** The unit of what a side or a sample returns: ms, pictures/s. */
  readonly unit: string;
  readonly target?: Target;
  /** What ran the graphs when it was no real device: `simulated T4`. Such a figure is the same in every run. */
  readonly device?: string;
}

/** Ours over the baseline. */
export interface RatioFigure extends AnyFigure {
  readonly kind: 'ratio';
  /** Default 9. */
  readonly rounds?: number;
  /** Rounds that run first and are not counted; default 1. */
  readonly warmUps?: number;
  /** Prepares both sides; `close` ends what it started, also after a failure. */
  open(): Promise<{ readonly ours: Side; readonly baseline: Side; close(): Promise<void> }>;
}

/** A figure without a baseline: a percentile of many samples. */
export interface SampledFigure extends AnyFigure {
  readonly kind: 'sampled';
  /** 0 to 100. */
  readonly percentile: number;
  open(): Promise<{ samples(): Promise<readonly number[]>; close(): Promise<void> }>;
}

export type Figure = RatioFigure | SampledFigure;

/** A measured figure. */
export interface Row {
  readonly name: string;
  readonly unit: string;
  readonly target?: Target;
  readonly device?: string;
  /** The ratio, or the percentile. */
  readonly value: number;
  /** Minimum, maximum and number of the rounds or samples. */
  readonly min: number;
  readonly max: number;
  readonly count: number;
  /** The ratio of each round, or the percentile of each tenth of the samples: how much the figure differs within one run. */
  readonly rounds?: readonly number[];
  /** Medians of the sides; only for a ratio. */
  readonly sides?: { readonly ours: number; readonly baseline: number };
}

export interface MeasureOptions {
  /** At most so many rounds of a ratio. */
  readonly mostRounds?: number;
}

export async function measure(
  figure: Figure,
  { mostRounds = Number.POSITIVE_INFINITY }: MeasureOptions = {},
): Promise<Row> {
  const { name, unit, target, device } = figure;
  const head = { name, unit, ...(target && { target }), ...(device && { device }) };
  if (figure.kind === 'ratio') {
    const sides = await figure.open();
    try {
      const rounds = Math.min(figure.rounds ?? 9, mostRounds);
      return { ...head, ...(await compare(sides, { ...figure, rounds })) };
    } finally {
      await sides.close();
    }
  }
  const source = await figure.open();
  try {
    const samples = await source.samples();
    return {
      ...head,
      ...spread(samples),
      ...partsOf(samples, figure.percentile),
      value: percentile(samples, figure.percentile),
    };
  } finally {
    await source.close();
  }
}

/** Throws if a side returns no positive number, so that a bench that measured nothing gives no result. */
async function compare(
  { ours, baseline }: { readonly ours: Side; readonly baseline: Side },
  { rounds = 9, warmUps = 1, name }: RatioFigure,
): Promise<Pick<Row, 'value' | 'min' | 'max' | 'count' | 'rounds' | 'sides'>> {
  const taken: { ours: number; baseline: number }[] = [];
  for (let round = -warmUps; round < rounds; round++) {
    const figures = { ours: 0, baseline: 0 };
    const turn = round % 2 === 0 ? (['ours', 'baseline'] as const) : (['baseline', 'ours'] as const);
    for (const side of turn) {
      figures[side] = await (side === 'ours' ? ours() : baseline());
      if (!(figures[side] > 0 && Number.isFinite(figures[side]))) {
        throw new Error(`${name}: ${side} gave ${figures[side]}, wanted a number above 0`);
      }
    }
    if (round >= 0) taken.push(figures);
  }
  const ratios = taken.map((each) => each.ours / each.baseline);
  return {
    ...spread(ratios),
    ...(ratios.length > 1 && { rounds: ratios }),
    value: percentile(ratios, 50),
    sides: {
      ours: percentile(
        taken.map((each) => each.ours),
        50,
      ),
      baseline: percentile(
        taken.map((each) => each.baseline),
        50,
      ),
    },
  };
}

function spread(values: readonly number[]): Pick<Row, 'min' | 'max' | 'count'> {
  return { min: Math.min(...values), max: Math.max(...values), count: values.length };
}

/** Of fewer samples, a part of one tenth would say nothing about the percentile. */
const FEWEST_SAMPLES = 200;
const PARTS = 10;

function partsOf(samples: readonly number[], percent: number): Pick<Row, 'rounds'> {
  if (samples.length < FEWEST_SAMPLES) return {};
  const size = Math.floor(samples.length / PARTS);
  const parts = Array.from({ length: PARTS }, (_, i) => samples.slice(i * size, (i + 1) * size));
  return { rounds: parts.map((part) => percentile(part, percent)) };
}

/** Interpolates between the two nearest values, like numpy by default. Throws without values. */
export function percentile(values: readonly number[], percent: number): number {
  if (values.length === 0) throw new Error('no samples were taken');
  const sorted = [...values].sort((a, b) => a - b);
  const place = (percent / 100) * (sorted.length - 1);
  const below = Math.floor(place);
  const above = Math.min(below + 1, sorted.length - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (place - below);
}

export function isMet({ value, target }: Pick<Row, 'value' | 'target'>): boolean {
  if (target === undefined) return true;
  return 'atLeast' in target ? value >= target.atLeast : value <= target.atMost;
}

/** Markdown: the machine, then one line per figure. */
export function table(rows: readonly Row[]): string {
  const lines = rows.map((row) => {
    const cells = [
      row.name,
      sidesText(row),
      valueText(row),
      `${three(row.min)} .. ${three(row.max)}`,
      `${row.count}`,
    ];
    return `| ${[...cells, targetText(row)].join(' | ')} |`;
  });
  const head = [
    '| figure | Lehr, baseline | median | min .. max | n | target |',
    '| --- | --- | --- | --- | --- | --- |',
  ];
  return [machine(), '', ...head, ...lines].join('\n');
}

/** The machine that runs the benches, and its load now. */
export const machine = (): string => `${machineName()}, load ${load().toFixed(1)}`;

const sidesText = ({ sides, unit }: Row): string =>
  sides ? `${three(sides.ours)}, ${three(sides.baseline)} ${unit}` : '';
const valueText = ({ value, unit, sides }: Row): string => `**${three(value)}**${sides ? '' : ` ${unit}`}`;

function targetText(row: Row): string {
  if (row.target === undefined) return '';
  const [sign, bound] = 'atLeast' in row.target ? ['>=', row.target.atLeast] : ['<=', row.target.atMost];
  return `${sign} ${bound}${isMet(row) ? '' : ', missed'}`;
}

/** Three significant digits, never in powers of ten. */
export const three = (value: number): string => {
  const digits = Number(value.toPrecision(3));
  return Math.abs(digits) >= 1000 ? Math.round(value).toString() : digits.toString();
};

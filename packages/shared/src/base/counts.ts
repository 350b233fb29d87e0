/**
 * Counters of a process since its start, as it reports them while an API process asks for them: rates are the differences of two
 * readings. They come from the same instruments as /metrics.
 */
import { z } from 'zod';

/** A name, or a name and a model: `requests`, `ended tiny@1`. Seconds have the ending `_s`. */
export const CountsSchema = z.record(z.string(), z.number().nonnegative());
export type Counts = z.output<typeof CountsSchema>;

interface Measured {
  readonly labels: Readonly<Record<string, string | number | undefined>>;
  readonly value: number;
  /** Of a histogram: its buckets, sum and count. */
  readonly metricName?: string | undefined;
}
interface Instrument {
  get(): Promise<{ readonly name: string; readonly values: readonly Measured[] }>;
}

/** Adds the values of a counter to `counts`; `nameOf` says under which name, and undefined leaves a value out. */
export async function addCounter(
  counts: Counts,
  counter: Instrument,
  nameOf: (labels: Measured['labels']) => string | undefined,
): Promise<void> {
  const { values } = await counter.get();
  for (const { labels, value } of values) add(counts, nameOf(labels), value);
}

/** Adds the numbers and the seconds of what a histogram has observed, under `name` and `name_s`, each with what `suffixOf` returns. */
export async function addHistogram(
  counts: Counts,
  histogram: Instrument,
  name: string,
  suffixOf: (labels: Measured['labels']) => string = () => '',
): Promise<void> {
  const { name: metric, values } = await histogram.get();
  for (const { labels, value, metricName } of values) {
    if (metricName === `${metric}_count`) add(counts, `${name}${suffixOf(labels)}`, value);
    if (metricName === `${metric}_sum`) add(counts, `${name}_s${suffixOf(labels)}`, value);
  }
}

/** ` tiny@1`, of a metric with the labels of a model. */
export const modelSuffix = ({ model, version }: Measured['labels']): string => ` ${model}@${version}`;

function add(counts: Counts, name: string | undefined, value: number): void {
  if (name !== undefined) counts[name] = (counts[name] ?? 0) + value;
}

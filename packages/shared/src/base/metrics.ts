/** Instruments for the metrics of the list, and the page they are scraped from. The only importer of prom-client. */
import {
  Counter,
  collectDefaultMetrics,
  Gauge,
  Histogram,
  type LabelValues,
  type Metric,
  type OpenMetricsContentType,
  Registry,
} from 'prom-client';
import type { MetricApp, MetricFacts } from './metric-lists/facts.ts';
import { INFERENCE_METRICS } from './metric-lists/inference.ts';
import { JOB_METRICS } from './metric-lists/jobs.ts';
import { API_METRICS, WORKER_METRICS } from './metric-lists/processes.ts';
import { traceIdOf } from './tracing/tracing.ts';

export type { MetricApp };

/** Every metric of Lehr, in one list: dashboards, alerts and scalers are checked against it. */
export const METRICS = { ...JOB_METRICS, ...API_METRICS, ...INFERENCE_METRICS, ...WORKER_METRICS } as const;

type List = typeof METRICS;
type Label<Facts extends MetricFacts> = Facts['labels'][number];
type Instrument<Facts extends MetricFacts> = {
  counter: Counter<Label<Facts>>;
  gauge: Gauge<Label<Facts>>;
  histogram: Distribution<Label<Facts>>;
}[Facts['kind']];

/** The instruments of one app, by their key in METRICS. */
export type Metrics<App extends MetricApp> = {
  readonly [Key in keyof List as App extends List[Key]['apps'][number] ? Key : never]: Instrument<List[Key]>;
};

export interface MetricsPage {
  /** Runs before every scrape, to set gauges from the current state. Must not reject. */
  beforeScrape(refresh: () => Promise<void>): void;
  /** The page in Prometheus's text format. */
  render(): Promise<string>;
  /** From now on scrapes that accept OpenMetrics get it, with the traces of observed values; all others get the text format. */
  showExemplars(): void;
  /** The page in the format for the `Accept` header of a scrape. */
  answer(accept: string | undefined): Promise<{ readonly text: string; readonly contentType: string }>;
}

interface MetricsOptions {
  /** Adds Node's (memory, CPU, event loop, handles). */
  readonly processMetrics?: boolean;
}

/** A histogram whose values can name the trace that they were observed in. */
class Distribution<Name extends string = string> {
  readonly #histogram: Histogram<Name>;

  constructor(histogram: Histogram<Name>) {
    this.#histogram = histogram;
  }

  /** `traceparent`: of the span whose time this is; the last one of each bucket is kept as its exemplar. */
  observe(labels: LabelValues<Name>, value: number, traceparent?: string): void {
    const traceId = traceIdOf(traceparent);
    // The library types the labels of exemplars as those of the metric, and its check of them needs no such thing.
    const exemplarLabels = (traceId === undefined ? {} : { trace_id: traceId }) as LabelValues<Name>;
    this.#histogram.observe({ labels, value, exemplarLabels });
  }

  /** Its buckets, sums and counts so far (counts.ts). */
  get(): ReturnType<Histogram<Name>['get']> {
    return this.#histogram.get();
  }
}

/** Instruments in a new registry. */
export function createMetrics<App extends MetricApp>(
  app: App,
  options: MetricsOptions = {},
): { metrics: Metrics<App>; page: MetricsPage } {
  const registry = new Registry();
  if (options.processMetrics) collectDefaultMetrics({ register: registry });
  const facts = Object.entries<MetricFacts>(METRICS).filter(([, { apps }]) => apps.includes(app));
  const instruments = Object.fromEntries(facts.map(([key, each]) => [key, instrument(each, registry)]));
  const refreshers: (() => Promise<void>)[] = [];
  const refresh = (): Promise<unknown> => Promise.all(refreshers.map((each) => each()));
  let hasExemplars = false;
  const page: MetricsPage = {
    beforeScrape: (next) => {
      refreshers.push(next);
    },
    render: async () => {
      await refresh();
      return registry.metrics();
    },
    showExemplars: () => {
      hasExemplars = true;
    },
    answer: async (accept = '') => {
      const isOpen = hasExemplars && accept.includes('application/openmetrics-text');
      await refresh();
      const shown = isOpen ? openMetricsOf(registry) : registry;
      return { text: await shown.metrics(), contentType: shown.contentType };
    },
  };
  return { metrics: instruments as Metrics<App>, page };
}

function instrument({ kind, name, help, labels, buckets }: MetricFacts, registry: Registry) {
  const options = { name, help, labelNames: [...labels], registers: [registry] };
  if (kind === 'counter') return new Counter(options);
  if (kind === 'gauge') return new Gauge(options);
  const more = { enableExemplars: true, ...(buckets && { buckets: [...buckets] }) };
  // The constructor would refuse this registry, because only OpenMetrics has exemplars.
  const histogram = new Histogram({ ...options, ...more, registers: [] });
  registry.registerMetric(histogram);
  return new Distribution(histogram);
}

/**
 * The same instruments in OpenMetrics. That format has the name of a counter without `_total`, and the library would rename the
 * counters for good when it writes it, so it gets copies.
 */
function openMetricsOf(registry: Registry): Registry<OpenMetricsContentType> {
  const open = new Registry<OpenMetricsContentType>();
  open.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
  for (const metric of registry.getMetricsAsArray() as unknown as Readable[]) {
    const name = metric.type === 'counter' ? metric.name.replace(/_total$/, '') : metric.name;
    const read = async (): Promise<object> => ({
      ...(await (metric.getForPromString ?? metric.get).call(metric)),
      name,
    });
    open.registerMetric({ type: metric.type, name, get: read } as unknown as Metric);
  }
  return open;
}

/** What the library reads of an instrument; its types hide some of it. */
interface Readable {
  readonly name: string;
  readonly type: string;
  get(): Promise<object>;
  getForPromString?(): Promise<object>;
}

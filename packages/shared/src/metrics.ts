/** Instruments for the metrics of the list, and the page they are scraped from. The only importer of prom-client. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { METRICS, type MetricApp, type MetricFacts } from './metric-lists/index.ts';

type List = typeof METRICS;
type Label<Facts extends MetricFacts> = Facts['labels'][number];
type Instrument<Facts extends MetricFacts> = {
  counter: Counter<Label<Facts>>;
  gauge: Gauge<Label<Facts>>;
  histogram: Histogram<Label<Facts>>;
}[Facts['kind']];

/** The instruments of one app, by their key in METRICS. */
export type Metrics<App extends MetricApp> = {
  readonly [Key in keyof List as App extends List[Key]['apps'][number] ? Key : never]: Instrument<List[Key]>;
};

export interface MetricsPage {
  readonly contentType: string;
  /** Runs before every scrape, to set gauges from the current state. Must not reject. */
  beforeScrape(refresh: () => Promise<void>): void;
  /** The page in Prometheus's text format. */
  render(): Promise<string>;
}

/** Instruments in a new registry. `processMetrics` adds Node's (memory, CPU, event loop, handles). */
export function createMetrics<App extends MetricApp>(
  app: App,
  options: { readonly processMetrics?: boolean } = {},
): { metrics: Metrics<App>; page: MetricsPage } {
  const registry = new Registry();
  if (options.processMetrics) collectDefaultMetrics({ register: registry });
  const facts = Object.entries<MetricFacts>(METRICS).filter(([, { apps }]) => apps.includes(app));
  const instruments = Object.fromEntries(facts.map(([key, each]) => [key, instrument(each, registry)]));
  const refreshers: (() => Promise<void>)[] = [];
  const page: MetricsPage = {
    contentType: registry.contentType,
    beforeScrape: (refresh) => {
      refreshers.push(refresh);
    },
    render: async () => {
      await Promise.all(refreshers.map((refresh) => refresh()));
      return registry.metrics();
    },
  };
  return { metrics: instruments as Metrics<App>, page };
}

function instrument({ kind, name, help, labels, buckets }: MetricFacts, registry: Registry) {
  const options = { name, help, labelNames: [...labels], registers: [registry] };
  if (kind === 'counter') return new Counter(options);
  if (kind === 'gauge') return new Gauge(options);
  return new Histogram({ ...options, ...(buckets && { buckets: [...buckets] }) });
}

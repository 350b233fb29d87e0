/** What each chart asks Prometheus. Callers choose a chart by its name and never write a query. */
import type { ChartName, ChartUnit } from '@lehr/shared';

export interface ChartQuery {
  /** PromQL; `WINDOW` stands for the time over which rates are taken. */
  readonly expr: string;
  /** The name of the only line, or the label whose values name the lines. */
  readonly line: { readonly name: string } | { readonly label: string };
}

export interface ChartFacts {
  readonly unit: ChartUnit;
  readonly queries: readonly ChartQuery[];
}

const quantile = (q: number, histogram: string, labels: string, by?: string): string =>
  `histogram_quantile(${q}, sum by (le${by ? `, ${by}` : ''}) (rate(${histogram}_bucket${labels}[WINDOW])))`;

/** Several API processes export the same gauges: the largest of equal ones counts once. */
export const CHARTS: Readonly<Record<ChartName, ChartFacts>> = {
  jobs: {
    unit: 'count',
    queries: [
      {
        expr: 'sum by (state) (max by (model, version, state) (lehr_queue_jobs))',
        line: { label: 'state' },
      },
    ],
  },
  start: {
    unit: 'seconds',
    queries: [{ expr: quantile(0.95, 'lehr_queue_time_seconds', '', 'class'), line: { label: 'class' } }],
  },
  duration: {
    unit: 'seconds',
    queries: ([0.5, 0.95] as const).map((q) => ({
      expr: quantile(q, 'lehr_request_duration_seconds', '{outcome="succeeded"}'),
      line: { name: q === 0.5 ? 'half' : 'most' },
    })),
  },
  outcomes: {
    unit: 'per_minute',
    queries: [
      { expr: '60 * sum by (outcome) (rate(lehr_requests_total[WINDOW]))', line: { label: 'outcome' } },
    ],
  },
  failures: {
    unit: 'per_minute',
    queries: [
      { expr: '60 * sum by (code) (rate(lehr_job_failures_total[WINDOW]))', line: { label: 'code' } },
    ],
  },
  rows: {
    unit: 'count',
    queries: [
      {
        expr: 'sum by (model) (rate(lehr_batch_rows_sum[WINDOW])) / sum by (model) (rate(lehr_batch_rows_count[WINDOW]))',
        line: { label: 'model' },
      },
    ],
  },
  call: {
    unit: 'seconds',
    queries: [
      {
        expr: quantile(0.95, 'lehr_inference_compute_seconds', '{stage=~"denoise|write|encode"}', 'model'),
        line: { label: 'model' },
      },
    ],
  },
  workers: {
    unit: 'count',
    queries: [
      {
        expr: 'max by (model) (lehr_workers{draining="false"})',
        line: { label: 'model' },
      },
    ],
  },
  redis: { unit: 'ratio', queries: [{ expr: 'max(lehr_redis_memory_ratio)', line: { name: 'used' } }] },
  tenants: {
    unit: 'count',
    queries: [
      { expr: 'sum by (tenant) (rate(lehr_tenant_cost_seconds_total[WINDOW]))', line: { label: 'tenant' } },
    ],
  },
};

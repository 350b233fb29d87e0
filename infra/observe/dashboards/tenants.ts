import type { DashboardFacts } from './panel.ts';

const RATE = 'sum by (tenant) (rate(lehr_tenant_cost_seconds_total[$__rate_interval]))';

/** The API names as many tenants as LEHR_METRICS_TENANTS says; the rest are `_others`. */
export const TENANTS: DashboardFacts = {
  id: 'lehr-tenants',
  title: 'Lehr: tenants and cost',
  asksPrice: true,
  sections: [
    {
      title: 'Who uses Lehr',
      panels: [
        {
          question: 'Which tenants use the engines?',
          help: 'Estimated engine seconds of accepted jobs, per second: what quotas charge. 1 is one engine that is always busy.',
          unit: 'short',
          kind: 'stacked',
          queries: [{ expr: RATE, legend: '{{tenant}}' }],
        },
        {
          question: 'How many jobs does each tenant send?',
          unit: 'reqps',
          kind: 'stacked',
          queries: [
            {
              expr: 'sum by (tenant) (rate(lehr_tenant_jobs_total[$__rate_interval]))',
              legend: '{{tenant}}',
            },
          ],
        },
        {
          question: 'Which share of the work is whose?',
          unit: 'percentunit',
          kind: 'lines',
          queries: [{ expr: `${RATE} / ignoring (tenant) group_left () sum(${RATE})`, legend: '{{tenant}}' }],
        },
        {
          question: 'How large are the jobs of each tenant?',
          help: 'Estimated engine seconds of a job, on average.',
          unit: 's',
          kind: 'lines',
          queries: [
            {
              expr: `${RATE} / sum by (tenant) (rate(lehr_tenant_jobs_total[$__rate_interval]))`,
              legend: '{{tenant}}',
            },
          ],
        },
      ],
    },
    {
      title: 'What it costs',
      panels: [
        {
          question: 'What do the jobs of each tenant cost per day, at this pace?',
          help: 'Estimated engine time times the price of an hour of one engine, which is set above in your currency.',
          unit: 'short',
          kind: 'stacked',
          queries: [{ expr: `${RATE} * 24 * $price`, legend: '{{tenant}}' }],
        },
        {
          question: 'What have the jobs of the last day cost?',
          unit: 'short',
          kind: 'lines',
          queries: [
            {
              expr: 'sum by (tenant) (increase(lehr_tenant_cost_seconds_total[1d])) / 3600 * $price',
              legend: '{{tenant}}',
            },
          ],
        },
        {
          question: 'Which share of the engine time is asked for?',
          help: 'Estimated engine time of accepted jobs over the time of all workers. Above 100 %, jobs arrive faster than they can run.',
          unit: 'percentunit',
          kind: 'lines',
          queries: [
            {
              expr: 'sum(rate(lehr_tenant_cost_seconds_total[$__rate_interval])) / count(lehr_worker_info)',
              legend: 'asked for',
            },
          ],
        },
        {
          question: 'How many requests for jobs are refused?',
          help: 'By limits and quotas of a key, or because the wait would be too long.',
          isRare: true,
          unit: 'reqps',
          kind: 'lines',
          queries: [
            {
              expr: 'sum(rate(lehr_requests_total{outcome="refused"}[$__rate_interval]))',
              legend: 'refused',
            },
          ],
        },
      ],
    },
  ],
};

import { type DashboardFacts, lines, rate, stacked } from './panel.ts';

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
        stacked(
          'Which tenants use the engines?',
          'short',
          { '{{tenant}}': RATE },
          {
            help: 'Estimated engine seconds of accepted jobs, per second: what quotas charge. 1 is one engine that is always busy.',
          },
        ),
        stacked('How many jobs does each tenant send?', 'reqps', {
          '{{tenant}}': rate('lehr_tenant_jobs_total', 'tenant'),
        }),
        lines('Which share of the work is whose?', 'percentunit', {
          '{{tenant}}': `${RATE} / ignoring (tenant) group_left () sum(${RATE})`,
        }),
        lines(
          'How large are the jobs of each tenant?',
          's',
          { '{{tenant}}': `${RATE} / sum by (tenant) (rate(lehr_tenant_jobs_total[$__rate_interval]))` },
          { help: 'Estimated engine seconds of a job, on average.' },
        ),
      ],
    },
    {
      title: 'What it costs',
      panels: [
        stacked(
          'What do the jobs of each tenant cost per day, at this pace?',
          'short',
          { '{{tenant}}': `${RATE} * 24 * $price` },
          {
            help: 'Estimated engine time times the price of an hour of one engine, which is set above in your currency.',
          },
        ),
        lines('What have the jobs of the last day cost?', 'short', {
          '{{tenant}}': 'sum by (tenant) (increase(lehr_tenant_cost_seconds_total[1d])) / 3600 * $price',
        }),
        lines(
          'Which share of the engine time is asked for?',
          'percentunit',
          {
            'asked for':
              'sum(rate(lehr_tenant_cost_seconds_total[$__rate_interval])) / count(lehr_worker_info)',
          },
          {
            help: 'Estimated engine time of accepted jobs over the time of all workers. Above 100 %, jobs arrive faster than they can run.',
          },
        ),
      ],
    },
  ],
};

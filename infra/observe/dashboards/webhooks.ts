import { type DashboardFacts, quantile } from './panel.ts';

export const WEBHOOKS: DashboardFacts = {
  id: 'lehr-webhooks',
  title: 'Lehr: webhooks',
  sections: [
    {
      title: 'Deliveries',
      panels: [
        {
          question: 'Do deliveries reach their receivers?',
          unit: 'reqps',
          kind: 'stacked',
          queries: [
            {
              expr: 'sum by (outcome) (rate(lehr_webhook_deliveries_total[$__rate_interval]))',
              legend: '{{outcome}}',
            },
          ],
        },
        {
          question: 'How do attempts end?',
          unit: 'reqps',
          kind: 'stacked',
          queries: [
            {
              expr: 'sum by (outcome) (rate(lehr_webhook_attempts_total[$__rate_interval]))',
              legend: '{{outcome}}',
            },
          ],
        },
        {
          question: 'How many deliveries are unfinished?',
          unit: 'short',
          kind: 'lines',
          queries: [{ expr: 'max by (stage) (lehr_webhooks_pending)', legend: '{{stage}}' }],
        },
        {
          question: 'How long do receivers take to answer?',
          unit: 's',
          kind: 'lines',
          queries: [0.5, 0.95].map((q) => ({
            expr: quantile(q, 'lehr_webhook_attempt_duration_seconds'),
            legend: `p${q * 100}`,
          })),
        },
      ],
    },
  ],
};

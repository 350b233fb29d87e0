import { type DashboardFacts, lines, quantiles, rate, stacked } from './panel.ts';

export const WEBHOOKS: DashboardFacts = {
  id: 'lehr-webhooks',
  title: 'Lehr: webhooks',
  sections: [
    {
      title: 'Deliveries',
      panels: [
        stacked('Do deliveries reach their receivers?', 'reqps', {
          '{{outcome}}': rate('lehr_webhook_deliveries_total', 'outcome'),
        }),
        stacked('How do attempts end?', 'reqps', {
          '{{outcome}}': rate('lehr_webhook_attempts_total', 'outcome'),
        }),
        lines('How many deliveries are unfinished?', 'short', {
          '{{stage}}': 'max by (stage) (lehr_webhooks_pending)',
        }),
        lines(
          'How long do receivers take to answer?',
          's',
          quantiles([0.5, 0.95], 'lehr_webhook_attempt_duration_seconds'),
        ),
      ],
    },
  ],
};

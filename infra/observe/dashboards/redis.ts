import type { DashboardFacts } from './panel.ts';

export const REDIS: DashboardFacts = {
  id: 'lehr-redis',
  title: 'Lehr: Redis and records',
  sections: [
    {
      title: 'As Lehr sees it',
      panels: [
        {
          question: 'Does every API process reach Redis?',
          unit: 'short',
          kind: 'lines',
          queries: [{ expr: 'lehr_redis_up', legend: '{{instance}}' }],
        },
        {
          question: 'How long does Redis take to answer?',
          unit: 's',
          kind: 'lines',
          queries: [{ expr: 'lehr_redis_latency_seconds', legend: '{{instance}}' }],
        },
        {
          question: 'How full is Redis?',
          help: 'From 70 % on, ended jobs of the largest tenants are removed early; from 80 % on, no job is accepted.',
          unit: 'percentunit',
          kind: 'lines',
          queries: [{ expr: 'max(lehr_redis_memory_ratio)', legend: 'used' }],
        },
        {
          question: 'How many ended jobs were removed early?',
          unit: 'short',
          kind: 'lines',
          queries: [
            { expr: 'sum(increase(lehr_records_removed_total[$__rate_interval]))', legend: 'removed' },
          ],
        },
        {
          question: 'What did the janitors repair or remove?',
          help: 'recovered and requeued are repairs after a crash; the others are everyday work.',
          unit: 'short',
          kind: 'stacked',
          queries: [
            {
              expr: 'sum by (action) (increase(lehr_janitor_actions_total[$__rate_interval]))',
              legend: '{{action}}',
            },
          ],
        },
        {
          question: 'How many records can no process read?',
          unit: 'short',
          kind: 'lines',
          queries: [{ expr: 'max(lehr_unreadable)', legend: 'unreadable' }],
        },
        {
          question: 'Which changes were audited?',
          isRare: true,
          unit: 'short',
          kind: 'stacked',
          queries: [
            {
              expr: 'sum by (action) (increase(lehr_audit_entries_total[$__rate_interval]))',
              legend: '{{action}}',
            },
          ],
        },
      ],
    },
  ],
};

import { type DashboardFacts, lines, stacked } from './panel.ts';

export const REDIS: DashboardFacts = {
  id: 'lehr-redis',
  title: 'Lehr: Redis and records',
  sections: [
    {
      title: 'As Lehr sees it',
      panels: [
        lines('Does every API process reach Redis?', 'short', { '{{instance}}': 'lehr_redis_up' }),
        lines('How long does Redis take to answer?', 's', { '{{instance}}': 'lehr_redis_latency_seconds' }),
        lines(
          'How full is Redis?',
          'percentunit',
          { used: 'max(lehr_redis_memory_ratio)' },
          {
            help: 'From 70 % on, ended jobs of the largest tenants are removed early; from 80 % on, no job is accepted.',
          },
        ),
        lines('How many ended jobs were removed early?', 'short', {
          removed: 'sum(increase(lehr_records_removed_total[$__rate_interval]))',
        }),
        stacked(
          'What did the janitors repair or remove?',
          'short',
          { '{{action}}': 'sum by (action) (increase(lehr_janitor_actions_total[$__rate_interval]))' },
          { help: 'recovered and requeued are repairs after a crash; the others are everyday work.' },
        ),
        lines('How many records can no process read?', 'short', { unreadable: 'max(lehr_unreadable)' }),
        stacked(
          'Which changes were audited?',
          'short',
          { '{{action}}': 'sum by (action) (increase(lehr_audit_entries_total[$__rate_interval]))' },
          { isRare: true },
        ),
      ],
    },
  ],
};

import { CHOSEN, type DashboardFacts } from './panel.ts';

export const FLEET: DashboardFacts = {
  id: 'lehr-fleet',
  title: 'Lehr: fleet at a glance',
  choosesModel: true,
  sections: [
    {
      title: 'Now',
      panels: [
        {
          question: 'How many jobs wait?',
          unit: 'short',
          kind: 'number',
          queries: [
            {
              expr: `sum(max by (model, version) (lehr_queue_jobs{state="queued",model=~"$model"}))`,
              legend: '',
            },
          ],
        },
        {
          question: 'How many jobs run?',
          unit: 'short',
          kind: 'number',
          queries: [
            {
              expr: `sum(max by (model, version) (lehr_queue_jobs{state="running",model=~"$model"}))`,
              legend: '',
            },
          ],
        },
        {
          question: 'How long has the oldest job waited?',
          unit: 's',
          kind: 'number',
          limits: [60, 1800],
          queries: [{ expr: `max(lehr_queue_oldest_job_age_seconds${CHOSEN})`, legend: '' }],
        },
        {
          question: 'How many workers can take jobs?',
          help: 'Workers that serve several models count once here.',
          unit: 'short',
          kind: 'number',
          queries: [{ expr: 'count(lehr_worker_info) or vector(0)', legend: '' }],
        },
        {
          question: 'Which share of jobs failed by fault of the service?',
          help: 'Of the jobs that ended in the last hour. Expired jobs count.',
          unit: 'percentunit',
          kind: 'number',
          limits: [0.001, 0.01],
          queries: [{ expr: 'lehr:failed_jobs:ratio_rate1h', legend: '' }],
        },
        {
          question: 'Which share of interactive jobs started late?',
          help: 'In the last hour: more than 10 s after their request.',
          unit: 'percentunit',
          kind: 'number',
          limits: [0.05, 0.3],
          queries: [{ expr: 'lehr:late_starts:ratio_rate1h', legend: '' }],
        },
        {
          question: 'How full is Redis?',
          unit: 'percentunit',
          kind: 'number',
          limits: [0.7, 0.8],
          queries: [{ expr: 'max(lehr_redis_memory_ratio)', legend: '' }],
        },
        {
          question: 'How many workers do not claim?',
          help: 'In quarantine after repeated failures, or while the object store is down.',
          unit: 'short',
          kind: 'number',
          limits: [1, 2],
          queries: [
            { expr: 'sum(max by (instance) (lehr_worker_quarantined or lehr_store_down))', legend: '' },
          ],
        },
      ],
    },
    {
      title: 'Demand and supply',
      panels: [
        {
          question: 'Do jobs arrive faster than they end?',
          unit: 'reqps',
          kind: 'lines',
          queries: [
            { expr: `sum(rate(lehr_jobs_accepted_total${CHOSEN}[$__rate_interval]))`, legend: 'accepted' },
            {
              expr: 'sum by (outcome) (rate(lehr_requests_total{outcome!="refused",model=~"$model"}[$__rate_interval]))',
              legend: '{{outcome}}',
            },
          ],
        },
        {
          question: 'For which models do jobs wait?',
          unit: 'short',
          kind: 'stacked',
          queries: [
            {
              expr: 'max by (model, version) (lehr_queue_jobs{state="queued",model=~"$model"})',
              legend: '{{model}}@{{version}}',
            },
          ],
        },
        {
          question: 'How many workers serve each model?',
          unit: 'short',
          kind: 'lines',
          queries: [
            {
              expr: 'max by (model, version) (lehr_workers{draining="false",model=~"$model"})',
              legend: '{{model}}@{{version}}',
            },
          ],
        },
        {
          question: 'How many workers should there be?',
          help: 'Per pool, as docs/scaling.md defines it, beside those that there are.',
          unit: 'short',
          kind: 'lines',
          queries: [
            { expr: 'max by (pool) (lehr_scale_desired_workers)', legend: '{{pool}}: wanted' },
            { expr: 'max by (pool, state) (lehr_scale_workers)', legend: '{{pool}}: {{state}}' },
          ],
        },
        {
          question: 'How much work waits?',
          help: 'Estimated engine seconds of the waiting jobs of each pool, by class.',
          unit: 's',
          kind: 'stacked',
          queries: [
            { expr: 'max by (pool, class) (lehr_scale_waiting_seconds)', legend: '{{pool}}, {{class}}' },
          ],
        },
        {
          question: 'How many pictures does each model make per second?',
          unit: 'short',
          kind: 'stacked',
          queries: [
            {
              expr: `sum by (model) (rate(lehr_images_total${CHOSEN}[$__rate_interval]))`,
              legend: '{{model}}',
            },
          ],
        },
        {
          question: 'How many seconds of speech are transcribed per second?',
          unit: 'short',
          kind: 'stacked',
          queries: [
            {
              expr: `sum by (model) (rate(lehr_audio_seconds_total${CHOSEN}[$__rate_interval]))`,
              legend: '{{model}}',
            },
          ],
        },
        {
          question: 'What goes wrong?',
          help: 'Failed jobs by error code; docs/operating.md explains the codes.',
          isRare: true,
          unit: 'short',
          kind: 'stacked',
          queries: [
            {
              expr: 'sum by (code, fault) (increase(lehr_job_failures_total{model=~"$model"}[$__rate_interval]))',
              legend: '{{code}} ({{fault}})',
            },
          ],
        },
      ],
    },
    {
      title: 'Workers',
      panels: [
        {
          question: 'Are the batches full?',
          help: 'Rows of one denoising call; a picture with guidance takes two.',
          unit: 'short',
          kind: 'lines',
          queries: [
            {
              expr: `sum by (instance) (rate(lehr_batch_rows_sum${CHOSEN}[$__rate_interval])) / sum by (instance) (rate(lehr_batch_rows_count${CHOSEN}[$__rate_interval]))`,
              legend: '{{instance}}',
            },
          ],
        },
        {
          question: 'Do engines restart or leases get lost?',
          unit: 'short',
          kind: 'lines',
          isRare: true,
          queries: [
            {
              expr: 'sum by (instance) (increase(lehr_engine_restarts_total[$__rate_interval]))',
              legend: 'restarts, {{instance}}',
            },
            {
              expr: 'sum by (instance) (increase(lehr_leases_lost_total[$__rate_interval]))',
              legend: 'leases lost, {{instance}}',
            },
          ],
        },
      ],
    },
  ],
};

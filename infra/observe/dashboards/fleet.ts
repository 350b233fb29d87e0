import { CHOSEN, type DashboardFacts, lines, number, rate, stacked } from './panel.ts';

export const FLEET: DashboardFacts = {
  id: 'lehr-fleet',
  title: 'Lehr: fleet at a glance',
  choosesModel: true,
  sections: [
    {
      title: 'Now',
      panels: [
        number(
          'How many jobs wait?',
          'short',
          `sum(max by (model, version) (lehr_queue_jobs{state="queued",model=~"$model"}))`,
        ),
        number(
          'How many jobs run?',
          'short',
          `sum(max by (model, version) (lehr_queue_jobs{state="running",model=~"$model"}))`,
        ),
        number(
          'How long has the oldest job waited?',
          's',
          `max(lehr_queue_oldest_job_age_seconds${CHOSEN})`,
          { limits: [60, 1800] },
        ),
        number('How many workers can take jobs?', 'short', 'count(lehr_worker_info) or vector(0)', {
          help: 'Workers that serve several models count once here.',
        }),
        number(
          'Which share of jobs failed by fault of the service?',
          'percentunit',
          'lehr:failed_jobs:ratio_rate1h',
          { help: 'Of the jobs that ended in the last hour. Expired jobs count.', limits: [0.001, 0.01] },
        ),
        number(
          'Which share of interactive jobs started late?',
          'percentunit',
          'lehr:late_starts:ratio_rate1h',
          { help: 'In the last hour: more than 10 s after their request.', limits: [0.05, 0.3] },
        ),
        number('How full is Redis?', 'percentunit', 'max(lehr_redis_memory_ratio)', { limits: [0.7, 0.8] }),
        number(
          'How many workers do not claim?',
          'short',
          'sum(max by (instance) (lehr_worker_quarantined or lehr_store_down))',
          {
            help: 'In quarantine after repeated failures, or while the object store is down.',
            limits: [1, 2],
          },
        ),
      ],
    },
    {
      title: 'Demand and supply',
      panels: [
        lines('Do jobs arrive faster than they end?', 'reqps', {
          accepted: `sum(rate(lehr_jobs_accepted_total${CHOSEN}[$__rate_interval]))`,
          '{{outcome}}': rate('lehr_requests_total', 'outcome', '{outcome!="refused",model=~"$model"}'),
        }),
        stacked('For which models do jobs wait?', 'short', {
          '{{model}}@{{version}}':
            'max by (model, version) (lehr_queue_jobs{state="queued",model=~"$model"})',
        }),
        lines('How many workers serve each model?', 'short', {
          '{{model}}@{{version}}': 'max by (model, version) (lehr_workers{draining="false",model=~"$model"})',
        }),
        lines(
          'How many workers should there be?',
          'short',
          {
            '{{pool}}: wanted': 'max by (pool) (lehr_scale_desired_workers)',
            '{{pool}}: {{state}}': 'max by (pool, state) (lehr_scale_workers)',
          },
          { help: 'Per pool, as docs/scaling.md defines it, beside those that there are.' },
        ),
        stacked(
          'How much work waits?',
          's',
          { '{{pool}}, {{class}}': 'max by (pool, class) (lehr_scale_waiting_seconds)' },
          { help: 'Estimated engine seconds of the waiting jobs of each pool, by class.' },
        ),
        stacked('How many pictures does each model make per second?', 'short', {
          '{{model}}': rate('lehr_images_total', 'model', CHOSEN),
        }),
        stacked(
          'What does the check of drawn pictures say?',
          'short',
          {
            '{{model}}: {{verdict}}':
              'sum by (model, verdict) (increase(lehr_safety_pictures_total{model=~"$model"}[$__rate_interval]))',
          },
          { help: 'Of models with `safety` in models.yaml (docs/transform.md).', isRare: true },
        ),
        stacked('How many seconds of speech are transcribed per second?', 'short', {
          '{{model}}': rate('lehr_audio_seconds_total', 'model', CHOSEN),
        }),
        stacked(
          'What goes wrong?',
          'short',
          {
            '{{code}} ({{fault}})':
              'sum by (code, fault) (increase(lehr_job_failures_total{model=~"$model"}[$__rate_interval]))',
          },
          { help: 'Failed jobs by error code; docs/operating.md explains the codes.', isRare: true },
        ),
      ],
    },
    {
      title: 'Workers',
      panels: [
        lines(
          'Are the batches full?',
          'short',
          {
            '{{instance}}': `sum by (instance) (rate(lehr_batch_rows_sum${CHOSEN}[$__rate_interval])) / sum by (instance) (rate(lehr_batch_rows_count${CHOSEN}[$__rate_interval]))`,
          },
          { help: 'Rows of one denoising call; a picture with guidance takes two.' },
        ),
        lines(
          'Do engines restart or leases get lost?',
          'short',
          {
            'restarts, {{instance}}':
              'sum by (instance) (increase(lehr_engine_restarts_total[$__rate_interval]))',
            'leases lost, {{instance}}':
              'sum by (instance) (increase(lehr_leases_lost_total[$__rate_interval]))',
          },
          { isRare: true },
        ),
      ],
    },
  ],
};

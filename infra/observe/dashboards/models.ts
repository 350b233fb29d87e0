/** The versions of the models beside each other: who gets which, which one fails or is slow, and where they are open. */
import { CHOSEN, type DashboardFacts, lines, quantile, rate, stacked } from './panel.ts';

const REF = '{{model}}@{{version}}';
const ROLE = `${REF} ({{role}})`;

export const MODELS: DashboardFacts = {
  id: 'lehr-models',
  title: 'Lehr: models and canary',
  choosesModel: true,
  sections: [
    {
      title: 'Who gets which version',
      panels: [
        lines(
          'What share of the callers gets the canary?',
          'percentunit',
          { [ROLE]: `max by (model, version, role) (lehr_rollout_weight${CHOSEN})` },
          {
            help: 'As the rollouts say. While no live worker serves the canary, all get the stable version.',
          },
        ),
        stacked('Which versions get the jobs?', 'reqps', {
          [REF]: rate('lehr_jobs_accepted_total', 'model, version', CHOSEN),
        }),
        stacked(
          'When were the rollouts changed, and how?',
          'short',
          {
            '{{model}} {{action}}': `sum by (model, action) (increase(lehr_rollout_changes_total${CHOSEN}[$__rate_interval]))`,
          },
          { columns: 24 },
        ),
      ],
    },
    {
      title: 'Is the canary worse?',
      panels: [
        lines(
          'How many jobs of the rollout has each version ended?',
          'short',
          { [`${ROLE} {{outcome}}`]: `max by (model, version, role, outcome) (lehr_rollout_jobs${CHOSEN})` },
          { help: 'Of the latest rollout of each model; the next one starts at 0.' },
        ),
        lines(
          'With which errors do jobs of the rollout fail?',
          'short',
          {
            [`${ROLE} {{code}}, fault of the {{fault}}`]: `max by (model, version, role, code, fault) (lehr_rollout_failures${CHOSEN})`,
          },
          { isRare: true },
        ),
        lines(
          'Which versions fail?',
          'percentunit',
          {
            [REF]:
              'sum by (model, version) (rate(lehr_job_failures_total{fault="service",model=~"$model"}[$__rate_interval])) / ' +
              'sum by (model, version) (rate(lehr_requests_total{outcome=~"succeeded|failed",model=~"$model"}[$__rate_interval]))',
          },
          {
            help: 'Failures by fault of the service, of the jobs that ended, with and without a rollout.',
            isRare: true,
          },
        ),
        lines(
          'Which versions keep the engine longer?',
          's',
          {
            [`${REF} p50`]: quantile(0.5, 'lehr_engine_seconds', 'model, version', CHOSEN),
            [`${REF} p95`]: quantile(0.95, 'lehr_engine_seconds', 'model, version', CHOSEN),
          },
          {
            help: 'Engine time of jobs that succeeded, without their wait. It depends on what was asked for.',
          },
        ),
        lines(
          'Which versions are slower (p95 of a job, with its wait)?',
          's',
          { [REF]: quantile(0.95, 'lehr_request_duration_seconds', 'model, version', CHOSEN) },
          { columns: 24 },
        ),
      ],
    },
    {
      title: 'Loaded models and cold starts',
      panels: [
        lines('On how many workers is each version open?', 'short', {
          [REF]: `sum by (model, version) (lehr_model_available${CHOSEN})`,
        }),
        lines(
          'Where does the time of making a model ready go?',
          's',
          {
            [`${REF} {{stage}}`]: `sum by (model, version, stage) (lehr_model_load_seconds_sum${CHOSEN}) / sum by (model, version, stage) (lehr_model_load_seconds_count${CHOSEN})`,
          },
          {
            help: 'Fetching its files, opening them, the warm-up, and the first job after it; means since the workers started.',
          },
        ),
        lines(
          'How long does a cold start take?',
          's',
          { '{{pool}}': 'max by (pool) (lehr_scale_start_seconds)' },
          { help: 'Until a new worker of the pool serves.' },
        ),
      ],
    },
  ],
};

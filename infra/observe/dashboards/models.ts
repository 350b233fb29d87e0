/** The versions of the models beside each other: who gets which, which one fails or is slow, and where they are open. */
import { CHOSEN, type DashboardFacts, quantile } from './panel.ts';

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
        {
          question: 'What share of the callers gets the canary?',
          help: 'As the rollouts say. While no live worker serves the canary, all get the stable version.',
          unit: 'percentunit',
          kind: 'lines',
          queries: [{ expr: `max by (model, version, role) (lehr_rollout_weight${CHOSEN})`, legend: ROLE }],
        },
        {
          question: 'Which versions get the jobs?',
          unit: 'reqps',
          kind: 'stacked',
          queries: [
            {
              expr: `sum by (model, version) (rate(lehr_jobs_accepted_total${CHOSEN}[$__rate_interval]))`,
              legend: REF,
            },
          ],
        },
        {
          question: 'When were the rollouts changed, and how?',
          unit: 'short',
          kind: 'stacked',
          columns: 24,
          queries: [
            {
              expr: `sum by (model, action) (increase(lehr_rollout_changes_total${CHOSEN}[$__rate_interval]))`,
              legend: '{{model}} {{action}}',
            },
          ],
        },
      ],
    },
    {
      title: 'Is the canary worse?',
      panels: [
        {
          question: 'How many jobs of the rollout has each version ended?',
          help: 'Of the latest rollout of each model; the next one starts at 0.',
          unit: 'short',
          kind: 'lines',
          queries: [
            {
              expr: `max by (model, version, role, outcome) (lehr_rollout_jobs${CHOSEN})`,
              legend: `${ROLE} {{outcome}}`,
            },
          ],
        },
        {
          question: 'With which errors do jobs of the rollout fail?',
          unit: 'short',
          kind: 'lines',
          isRare: true,
          queries: [
            {
              expr: `max by (model, version, role, code, fault) (lehr_rollout_failures${CHOSEN})`,
              legend: `${ROLE} {{code}}, fault of the {{fault}}`,
            },
          ],
        },
        {
          question: 'Which versions fail?',
          help: 'Failures by fault of the service, of the jobs that ended, with and without a rollout.',
          unit: 'percentunit',
          kind: 'lines',
          isRare: true,
          queries: [
            {
              expr:
                'sum by (model, version) (rate(lehr_job_failures_total{fault="service",model=~"$model"}[$__rate_interval])) / ' +
                'sum by (model, version) (rate(lehr_requests_total{outcome=~"succeeded|failed",model=~"$model"}[$__rate_interval]))',
              legend: REF,
            },
          ],
        },
        {
          question: 'Which versions keep the engine longer?',
          help: 'Engine time of jobs that succeeded, without their wait. It depends on what was asked for.',
          unit: 's',
          kind: 'lines',
          queries: [
            { expr: quantile(0.5, 'lehr_engine_seconds', 'model, version', CHOSEN), legend: `${REF} p50` },
            { expr: quantile(0.95, 'lehr_engine_seconds', 'model, version', CHOSEN), legend: `${REF} p95` },
          ],
        },
        {
          question: 'Which versions are slower (p95 of a job, with its wait)?',
          unit: 's',
          kind: 'lines',
          columns: 24,
          queries: [
            { expr: quantile(0.95, 'lehr_request_duration_seconds', 'model, version', CHOSEN), legend: REF },
          ],
        },
      ],
    },
    {
      title: 'Loaded models and cold starts',
      panels: [
        {
          question: 'On how many workers is each version open?',
          unit: 'short',
          kind: 'lines',
          queries: [{ expr: `sum by (model, version) (lehr_model_available${CHOSEN})`, legend: REF }],
        },
        {
          question: 'How many live workers take jobs of each version?',
          unit: 'short',
          kind: 'lines',
          queries: [
            {
              expr: 'max by (model, version) (lehr_workers{draining="false",model=~"$model"})',
              legend: REF,
            },
          ],
        },
        {
          question: 'How long does loading a model take?',
          unit: 's',
          kind: 'lines',
          queries: [
            {
              expr: `sum by (model, version) (lehr_inference_load_seconds_sum${CHOSEN}) / sum by (model, version) (lehr_inference_load_seconds_count${CHOSEN})`,
              legend: REF,
            },
          ],
        },
        {
          question: 'Where does the time of making a model ready go?',
          help: 'Fetching its files, opening them, the warm-up, and the first job after it; means since the workers started.',
          unit: 's',
          kind: 'lines',
          queries: [
            {
              expr: `sum by (model, version, stage) (lehr_model_load_seconds_sum${CHOSEN}) / sum by (model, version, stage) (lehr_model_load_seconds_count${CHOSEN})`,
              legend: `${REF} {{stage}}`,
            },
          ],
        },
        {
          question: 'How long does a cold start take?',
          help: 'Until a new worker of the pool serves.',
          unit: 's',
          kind: 'lines',
          queries: [{ expr: 'max by (pool) (lehr_scale_start_seconds)', legend: '{{pool}}' }],
        },
      ],
    },
  ],
};

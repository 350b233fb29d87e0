import { CHOSEN, type DashboardFacts, quantile } from './panel.ts';

const mean = (name: string): string =>
  `sum by (model, version) (rate(${name}_sum${CHOSEN}[$__rate_interval])) / sum by (model, version) (rate(${name}_count${CHOSEN}[$__rate_interval]))`;
const REF = '{{model}}@{{version}}';

export const MODELS: DashboardFacts = {
  id: 'lehr-models',
  title: 'Lehr: models',
  choosesModel: true,
  sections: [
    {
      title: 'Versions beside each other',
      panels: [
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
          question: 'Which versions fail?',
          help: 'Failures by fault of the service, of the jobs that ended.',
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
          question: 'Which versions are slower (p95 of a job)?',
          unit: 's',
          kind: 'lines',
          queries: [
            { expr: quantile(0.95, 'lehr_request_duration_seconds', 'model, version', CHOSEN), legend: REF },
          ],
        },
        {
          question: 'On how many workers is each version open?',
          unit: 'short',
          kind: 'lines',
          queries: [{ expr: `sum by (model, version) (lehr_model_available${CHOSEN})`, legend: REF }],
        },
      ],
    },
    {
      title: 'Batches',
      panels: [
        {
          question: 'How many pictures share a call?',
          unit: 'short',
          kind: 'lines',
          queries: [{ expr: mean('lehr_batch_size'), legend: REF }],
        },
        {
          question: 'How many rows has a call?',
          unit: 'short',
          kind: 'lines',
          queries: [{ expr: mean('lehr_batch_rows'), legend: REF }],
        },
        {
          question: 'How many windows of speech share the decoder?',
          unit: 'short',
          kind: 'lines',
          queries: [{ expr: mean('lehr_windows_per_batch'), legend: REF }],
        },
        {
          question: 'How many tokens are written per second?',
          unit: 'short',
          kind: 'lines',
          queries: [
            {
              expr: `sum by (model, version) (rate(lehr_tokens_total${CHOSEN}[$__rate_interval]))`,
              legend: REF,
            },
          ],
        },
      ],
    },
    {
      title: 'Start and checkpoints',
      panels: [
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
          question: 'What happens to checkpoints?',
          isRare: true,
          unit: 'short',
          kind: 'stacked',
          queries: [
            {
              expr: `sum by (outcome) (increase(lehr_checkpoints_total${CHOSEN}[$__rate_interval]))`,
              legend: '{{outcome}}',
            },
          ],
        },
      ],
    },
  ],
};

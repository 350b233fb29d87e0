import { CHOSEN, type DashboardFacts, quantile } from './panel.ts';

const stage = (name: string): string => `{model=~"$model",stage="${name}"}`;

export const LATENCY: DashboardFacts = {
  id: 'lehr-latency',
  title: 'Lehr: latency',
  choosesModel: true,
  sections: [
    {
      title: 'What callers wait for',
      panels: [
        {
          question: 'How long does a job take, from request to end?',
          unit: 's',
          kind: 'lines',
          queries: [0.5, 0.95, 0.99].map((q) => ({
            expr: quantile(q, 'lehr_request_duration_seconds', '', CHOSEN),
            legend: `p${q * 100}`,
          })),
        },
        {
          question: 'How long do jobs of each class wait for a worker (p95)?',
          unit: 's',
          kind: 'lines',
          queries: [
            { expr: quantile(0.95, 'lehr_queue_time_seconds', 'class', CHOSEN), legend: '{{class}}' },
          ],
        },
        {
          question: 'How many times longer than its own work does a job take (p95)?',
          help: 'Time from request to end over the estimated engine time. 1 is a job that had the engine for itself.',
          unit: 'short',
          kind: 'lines',
          queries: [
            { expr: quantile(0.95, 'lehr_job_slowdown_ratio', 'class', CHOSEN), legend: '{{class}}' },
          ],
        },
        {
          question: 'Which share of its time does a job wait?',
          help: 'Mean wait for a worker over mean duration, of jobs that succeeded or failed. Near 1, more workers would help.',
          unit: 'percentunit',
          kind: 'lines',
          queries: [
            {
              expr: `sum by (model) (rate(lehr_queue_time_seconds_sum${CHOSEN}[$__rate_interval])) / sum by (model) (rate(lehr_request_duration_seconds_sum${CHOSEN}[$__rate_interval]))`,
              legend: '{{model}}',
            },
          ],
        },
        {
          question: 'How long does a claim take (p99)?',
          help: 'From the choice of a group until its jobs can run. The lane steps meanwhile, with free rows.',
          unit: 's',
          kind: 'lines',
          queries: [{ expr: quantile(0.99, 'lehr_claim_seconds'), legend: 'p99' }],
        },
        {
          question: 'How many jobs are claimed per second?',
          unit: 'reqps',
          kind: 'lines',
          queries: [
            {
              expr: `sum by (model) (rate(lehr_claims_total${CHOSEN}[$__rate_interval]))`,
              legend: '{{model}}',
            },
          ],
        },
        {
          question: 'How long has the oldest job of each model waited?',
          unit: 's',
          kind: 'lines',
          queries: [
            {
              expr: 'max by (model, version) (lehr_queue_oldest_job_age_seconds{model=~"$model"})',
              legend: '{{model}}@{{version}}',
            },
          ],
        },
      ],
    },
    {
      title: 'Where the time of a picture goes (p95)',
      panels: [
        {
          question: 'How long does one denoising call take?',
          unit: 's',
          kind: 'lines',
          queries: [
            {
              expr: quantile(0.95, 'lehr_inference_compute_seconds', 'model', stage('denoise')),
              legend: '{{model}}',
            },
          ],
        },
        {
          question: 'How long does a call of so many rows take (median)?',
          help: 'Flat lines: more rows cost nothing. Lines in proportion to their rows: a larger batch gains nothing.',
          unit: 's',
          kind: 'lines',
          queries: [{ expr: quantile(0.5, 'lehr_step_seconds', 'rows', CHOSEN), legend: '{{rows}} rows' }],
        },
        {
          question: 'How long do text encoding and decoding take?',
          unit: 's',
          kind: 'lines',
          queries: [
            {
              expr: quantile(0.95, 'lehr_inference_compute_seconds', 'model', stage('text')),
              legend: 'text, {{model}}',
            },
            {
              expr: quantile(0.95, 'lehr_inference_compute_seconds', 'model', stage('decode')),
              legend: 'decode, {{model}}',
            },
          ],
        },
        {
          question: 'How long does making the file take?',
          unit: 's',
          kind: 'lines',
          queries: [
            {
              expr: quantile(0.95, 'lehr_inference_postprocess_seconds', 'model', CHOSEN),
              legend: '{{model}}',
            },
          ],
        },
        {
          question: 'How long does writing an output to the store take?',
          unit: 's',
          kind: 'lines',
          queries: [{ expr: quantile(0.95, 'lehr_upload_seconds', 'model', CHOSEN), legend: '{{model}}' }],
        },
      ],
    },
    {
      title: 'Speech',
      panels: [
        {
          question: 'How many seconds does a second of speech take (p95)?',
          unit: 'short',
          kind: 'lines',
          queries: [{ expr: quantile(0.95, 'lehr_real_time_factor', 'model', CHOSEN), legend: '{{model}}' }],
        },
        {
          question: 'How long does decoding an audio file take (p95)?',
          unit: 's',
          kind: 'lines',
          queries: [{ expr: quantile(0.95, 'lehr_audio_decode_seconds'), legend: 'p95' }],
        },
      ],
    },
  ],
};

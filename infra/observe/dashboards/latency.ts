import { CHOSEN, type DashboardFacts, lines, quantile, quantiles, rate } from './panel.ts';

const stage = (name: string): string => `{model=~"$model",stage="${name}"}`;

export const LATENCY: DashboardFacts = {
  id: 'lehr-latency',
  title: 'Lehr: latency',
  choosesModel: true,
  sections: [
    {
      title: 'What callers wait for',
      panels: [
        lines(
          'How long does a job take, from request to end?',
          's',
          quantiles([0.5, 0.95, 0.99], 'lehr_request_duration_seconds', CHOSEN),
        ),
        lines('How long do jobs of each class wait for a worker (p95)?', 's', {
          '{{class}}': quantile(0.95, 'lehr_queue_time_seconds', 'class', CHOSEN),
        }),
        lines(
          'How many times longer than its own work does a job take (p95)?',
          'short',
          { '{{class}}': quantile(0.95, 'lehr_job_slowdown_ratio', 'class', CHOSEN) },
          {
            help: 'Time from request to end over the estimated engine time. 1 is a job that had the engine for itself.',
          },
        ),
        lines(
          'Which share of its time does a job wait?',
          'percentunit',
          {
            '{{model}}': `sum by (model) (rate(lehr_queue_time_seconds_sum${CHOSEN}[$__rate_interval])) / sum by (model) (rate(lehr_request_duration_seconds_sum${CHOSEN}[$__rate_interval]))`,
          },
          {
            help: 'Mean wait for a worker over mean duration, of jobs that succeeded or failed. Near 1, more workers would help.',
          },
        ),
        lines(
          'How long does a claim take (p99)?',
          's',
          { p99: quantile(0.99, 'lehr_claim_seconds') },
          {
            help: 'From the choice of a group until its jobs can run. The lane steps meanwhile, with free rows.',
          },
        ),
        lines('How many jobs are claimed per second?', 'reqps', {
          '{{model}}': rate('lehr_claims_total', 'model', CHOSEN),
        }),
        lines('How long has the oldest job of each model waited?', 's', {
          '{{model}}@{{version}}':
            'max by (model, version) (lehr_queue_oldest_job_age_seconds{model=~"$model"})',
        }),
      ],
    },
    {
      title: 'Where the time of a picture goes (p95)',
      panels: [
        lines('How long does one denoising call take?', 's', {
          '{{model}}': quantile(0.95, 'lehr_inference_compute_seconds', 'model', stage('denoise')),
        }),
        lines(
          'How long does a call of so many rows take (median)?',
          's',
          { '{{rows}} rows': quantile(0.5, 'lehr_step_seconds', 'rows', CHOSEN) },
          {
            help: 'Flat lines: more rows cost nothing. Lines in proportion to their rows: a larger batch gains nothing.',
          },
        ),
        lines('How long do text encoding and decoding take?', 's', {
          'text, {{model}}': quantile(0.95, 'lehr_inference_compute_seconds', 'model', stage('text')),
          'decode, {{model}}': quantile(0.95, 'lehr_inference_compute_seconds', 'model', stage('decode')),
        }),
        lines('How long does making the file take?', 's', {
          '{{model}}': quantile(0.95, 'lehr_inference_postprocess_seconds', 'model', CHOSEN),
        }),
        lines('How long does writing an output to the store take?', 's', {
          '{{model}}': quantile(0.95, 'lehr_upload_seconds', 'model', CHOSEN),
        }),
      ],
    },
    {
      title: 'Speech',
      panels: [
        lines('How many seconds does a second of speech take (p95)?', 'short', {
          '{{model}}': quantile(0.95, 'lehr_real_time_factor', 'model', CHOSEN),
        }),
        lines('How long does decoding an audio file take (p95)?', 's', {
          p95: quantile(0.95, 'lehr_audio_decode_seconds'),
        }),
      ],
    },
  ],
};

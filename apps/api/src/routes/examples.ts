/** Examples in the OpenAPI document; test/api/openapi.test.ts checks them against their schemas. */
import type { z } from '@hono/zod-openapi';
import {
  type ApiKey,
  type AuditEntry,
  type Batch,
  DEFAULT_LIMITS,
  type Job,
  type JobAction,
  type JobEvent,
  type JobRequest,
  type KeyRequest,
  type NewApiKey,
  type ScheduleSchema,
} from '@lehr/shared';

const ID = 'job_01jd3v9s6w0000000000000000';
const BASE = 'https://lehr.example';

export const JOB_REQUESTS = {
  speech: {
    summary: 'Speech to text',
    value: { type: 'speech-to-text', input: { audio: 'https://app.example/memo.wav', mode: 'fast' } },
  },
  chain: {
    summary: 'Speech to image',
    value: {
      type: 'speech-to-image',
      model: 'whisper-tiny+sd-turbo',
      input: { audio: 'https://app.example/memo.wav', width: 512, height: 512 },
    },
  },
  transform: {
    summary: 'A larger picture',
    value: { type: 'picture-transform', input: { image: 'https://app.example/sketch.png', scale: 2 } },
  },
  workflow: {
    summary: 'A workflow',
    value: {
      type: 'workflow',
      nodes: [
        { id: 'hear', type: 'speech-to-text', input: { audio: 'https://app.example/memo.wav' } },
        { id: 'photo', type: 'text-to-image', input: { prompt: 'a photo of {{hear.text}}' } },
        { id: 'sketch', type: 'text-to-image', input: { prompt: 'a sketch of {{hear.text}}' } },
      ],
    },
  },
  short: {
    summary: 'Required fields only',
    value: { type: 'text-to-image', input: { prompt: 'a red circle on a blue background' } },
  },
  full: {
    summary: 'All fields',
    value: {
      type: 'text-to-image',
      model: 'tiny-diffusion',
      input: {
        prompt: 'a red circle on a blue background',
        negative_prompt: 'green',
        width: 64,
        height: 64,
        steps: 20,
        guidance: 4,
        seed: 7,
        sampler: 'dpmpp_2m',
        n: 2,
        output_format: 'png',
      },
      priority: 'interactive',
      deadline_s: 300,
      webhook: { url: 'https://app.example/hook', events: ['job.succeeded', 'job.failed'] },
      metadata: { order: '81' },
    } satisfies Partial<JobRequest>,
  },
};

export const BATCH_REQUESTS = {
  sweep: {
    summary: 'Every combination of some values',
    value: {
      sweep: {
        request: { type: 'text-to-image', input: { width: 512, height: 512 } },
        values: { prompt: ['a red circle', 'a blue square'], seed: [1, 2, 3] },
      },
    },
  },
  requests: {
    summary: 'Jobs',
    value: {
      requests: [
        { type: 'text-to-image', input: { prompt: 'a red circle' } },
        { type: 'speech-to-text', input: { audio: 'https://app.example/memo.wav' } },
      ],
      completion_window: '12h',
    },
  },
  file: {
    summary: "A file, as OpenAI's clients send it",
    value: {
      input_file_id: 'file_01jd3v9s6w0000000000000000',
      endpoint: '/v1/images/generations',
      completion_window: '24h',
    },
  },
};

export const BATCH: Batch = {
  id: 'batch_01jd3v9s6w0000000000000000',
  object: 'batch',
  endpoint: '/v1/jobs',
  errors: null,
  input_file_id: null,
  source: 'sweep',
  completion_window: '24h',
  status: 'in_progress',
  output_file_id: null,
  error_file_id: null,
  created_at: 1_795_161_600,
  in_progress_at: 1_795_161_601,
  expires_at: 1_795_248_000,
  finalizing_at: null,
  completed_at: null,
  failed_at: null,
  expired_at: null,
  cancelling_at: null,
  cancelled_at: null,
  request_counts: { total: 10_000, completed: 2_250, failed: 0 },
  metadata: {},
  priority: 'bulk',
  webhook: null,
  retried_from: null,
};

const input = {
  prompt: 'a red circle on a blue background',
  negative_prompt: '',
  width: 64,
  height: 64,
  steps: 20,
  guidance: 4,
  seed: 7,
  sampler: 'euler',
  n: 1,
  output_format: 'png',
  embed_prompt: false,
};

export const QUEUED_JOB: Job = {
  id: ID,
  object: 'job',
  type: 'text-to-image',
  model: 'tiny-diffusion@1',
  status: 'queued',
  priority: 'standard',
  attempt: 0,
  created_at: '2026-11-20T08:00:00.000Z',
  started_at: null,
  finished_at: null,
  expires_at: null,
  deadline_at: null,
  queue: { position: 3, eta_ms: 2400 },
  progress: null,
  input,
  output: null,
  error: null,
  metrics: null,
  webhook: null,
  metadata: {},
  links: {
    self: `${BASE}/v1/jobs/${ID}`,
    events: `${BASE}/v1/jobs/${ID}/events`,
    events_signed: `${BASE}/events/${ID}?expires=1795162501&sig=...`,
    cancel: `${BASE}/v1/jobs/${ID}/cancel`,
  },
};

export const SUCCEEDED_JOB: Job = {
  ...QUEUED_JOB,
  status: 'succeeded',
  attempt: 1,
  started_at: '2026-11-20T08:00:00.120Z',
  finished_at: '2026-11-20T08:00:01.010Z',
  expires_at: '2026-11-21T08:00:01.010Z',
  queue: null,
  output: {
    images: [
      {
        url: `${BASE}/objects/out/default/${ID}/0.png?expires=1795162501&sig=...`,
        content_type: 'image/png',
        width: 64,
        height: 64,
        bytes: 8123,
        sha256: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
        seed: 7,
        expires_at: '2026-11-20T08:15:01.000Z',
      },
    ],
  },
  metrics: {
    queue_ms: 120,
    run_ms: 890,
    total_ms: 1010,
    batch_size: 5.5,
    worker: 'gpu-0-4m2k9x1c',
    timings: { queued: 120, admitted: 10, text: 14, denoise: 640, decode: 180, encode: 36, upload: 10 },
  },
};

export const PROGRESS_EVENT: JobEvent = {
  type: 'job.progress',
  timestamp: '2026-11-20T08:00:01.400Z',
  data: { id: ID, fraction: 0.5, stage: 'denoise', step: 10, steps: 20 },
};

export const KEY_REQUEST = {
  tenant: 'acme',
  name: 'render farm',
  scopes: ['submit', 'read', 'cancel'],
  expires_at: '2027-11-20T00:00:00.000Z',
  limits: { max_jobs: 500, cost_per_minute_s: 600, weight: 2 },
} satisfies Partial<KeyRequest>;

export const SHOWN_KEY: ApiKey = {
  id: '4fZk09Qa',
  object: 'key',
  tenant: 'acme',
  name: 'render farm',
  prefix: 'lehr_live_4fZk09Qa',
  scopes: ['submit', 'read', 'cancel'],
  limits: { ...DEFAULT_LIMITS, ...KEY_REQUEST.limits },
  usage: { stored_mb: 812.5, uploaded_mb: 140 },
  usable: true,
  created_at: '2026-11-20T08:00:00.000Z',
  expires_at: '2027-11-20T00:00:00.000Z',
  last_used_at: '2026-11-20T08:05:00.000Z',
};

export const NEW_KEY: NewApiKey = {
  ...SHOWN_KEY,
  last_used_at: null,
  key: 'lehr_live_4fZk09Qa_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG',
};

export const AUDIT_ENTRY: AuditEntry = {
  id: '1795161600000-0',
  object: 'audit_entry',
  at: '2026-11-20T08:00:00.000Z',
  action: 'key.changed',
  actor: 'root',
  tenant: 'acme',
  target: '4fZk09Qa',
  address: '10.0.0.7',
  changes: { limits: { max_jobs: 500 } },
};

export const JOB_ACTION_REQUEST = {
  action: 'cancel' as const,
  filter: { status: 'queued' as const, metadata: { customer: '42' } },
};

export const JOB_ACTION: JobAction = {
  ...JOB_ACTION_REQUEST,
  id: 'bulk_01jd3v9s6w0000000000000000',
  object: 'job_action',
  priority: null,
  status: 'running',
  created_at: '2026-11-20T08:00:00.000Z',
  ended_at: null,
  count: 128,
  count_is_exact: true,
  matched: 100,
  done: 78,
  skipped: 2,
  failed: 0,
  errors: [],
};

export const SCHEDULE_REQUEST = {
  name: 'picture of the day',
  cron: '30 2 * * *',
  timezone: 'Europe/Berlin',
  request: { type: 'text-to-image' as const, input: { prompt: 'a red circle on a blue background' } },
};

export const SCHEDULE_CHANGE = { paused: true };

export const SCHEDULE: z.input<typeof ScheduleSchema> = {
  id: 'schedule_01jd3v9s6w0000000000000000',
  object: 'schedule',
  name: SCHEDULE_REQUEST.name,
  cron: SCHEDULE_REQUEST.cron,
  timezone: SCHEDULE_REQUEST.timezone,
  every_s: null,
  request: { ...SCHEDULE_REQUEST.request, metadata: {} },
  catch_up: 'last',
  overlap: 'allow',
  status: 'active',
  created_at: '2026-11-20T08:00:00.000Z',
  next_runs: ['2026-11-21T01:30:00.000Z', '2026-11-22T01:30:00.000Z'],
  last_runs: [
    {
      at: '2026-11-20T01:30:00.000Z',
      job: 'job_01jd3v9s6w0000000000000000',
      status: 'succeeded',
      error: null,
    },
  ],
};

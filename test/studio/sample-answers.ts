/**
 * Answers of the API that never change, for screenshots: what runs and how long it took would differ in each. The schemas of the API
 * check them, and other tests of this folder look at the same views over the running system.
 */
import type { Page } from 'playwright-core';
import { ROLLOUT } from '../../apps/api/src/routes/rollouts.ts';
import {
  type Activity,
  ActivitySchema,
  ApiKeyListSchema,
  DEFAULT_LIMITS,
  DeadLettersSchema,
  QueueListSchema,
  RolloutListSchema,
  ScheduleListSchema,
  SettingListSchema,
  TrafficSchema,
  UsageSchema,
} from '../../packages/shared/src/index.ts';
import { BATCH_EVENT, BATCHES, LINES, NOW } from './sample-batches.ts';

const MODELS = ['demo-diffusion@1', 'demo-diffusion@2', 'demo-whisper@1'];
const WORKERS = ['north-3k2f9x1a', 'south-8d1m4c7e'];

const lane = (worker: string, model: string, count: number, size: number): Activity['lanes'][number] => ({
  worker,
  queue: `diffusion.${model}.${size}x${size}`,
  task: 'diffusion',
  model,
  size: { width: size, height: size },
  rows: Math.min(16, count * 2),
  row_cap: 16,
  samples: Array.from({ length: count }, (_, i) => ({
    id: `${worker}-${size}-${i}`,
    step: Math.round(((i * 37) % 97) * 0.5),
    steps: 50,
    job: i % 3 === 1 ? null : `job_01m83xq7tp3dfb9dhcqsk0sb${10 + i}`,
  })),
  more_samples: 0,
  rows_per_call: Math.min(16, count * 2) - 0.5,
  calls_per_s: 11.2,
});

const ACTIVITY = ActivitySchema.parse({
  object: 'activity',
  at: NOW,
  workers: WORKERS.map((id, i) => ({
    id,
    state: i === 0 ? 'serving' : 'draining',
    devices: [i === 0 ? 'cuda' : 'cpu'],
    models: MODELS,
    loading: [],
    can_load: [],
    unavailable: [],
    problem: null,
    last_error:
      i === 0 ? null : { at: '2026-11-23T09:12:30.000Z', message: 'The engine was killed by SIGKILL.' },
  })),
  lanes: [lane(WORKERS[0], MODELS[0], 8, 128), lane(WORKERS[0], MODELS[1], 5, 192)],
  waiting: {
    ms: 96_000,
    own_ms: 41_000,
    queues: [
      {
        queue: `diffusion.${MODELS[0]}.128x128`,
        task: 'diffusion',
        model: MODELS[0],
        size: { width: 128, height: 128 },
        paused: false,
        jobs: { interactive: 3, standard: 9, bulk: 22 },
        next: Array.from({ length: 32 }, (_, i) => ({
          priority: i < 3 ? 'interactive' : i < 12 ? 'standard' : 'bulk',
          own: i % 3 === 0,
        })),
      },
    ],
    more_queues: 0,
  },
});

const TRAFFIC = TrafficSchema.parse({
  object: 'traffic',
  at: NOW,
  window_s: 10,
  apis: [
    { id: 'api-7h2k1m4p', requests_per_s: 41.3, refused_per_s: 1.2, errors_per_s: 0, mean_ms: 38 },
    { id: 'api-9x3c5v8b', requests_per_s: 17.8, refused_per_s: 0, errors_per_s: 0, mean_ms: 41 },
  ],
  models: [
    {
      model: MODELS[0],
      waiting: 34,
      running: 8,
      oldest_ms: 8400,
      share: 0.9,
      accepted_per_s: 6.4,
      refused_per_s: 0.3,
    },
    {
      model: MODELS[1],
      waiting: 0,
      running: 5,
      oldest_ms: 0,
      share: 0.1,
      accepted_per_s: 0.7,
      refused_per_s: 0,
    },
    {
      model: MODELS[2],
      waiting: 2,
      running: 4,
      oldest_ms: 610,
      share: null,
      accepted_per_s: 3.1,
      refused_per_s: 0,
    },
  ],
  workers: WORKERS.map((id, i) => ({
    id,
    state: i === 0 ? 'serving' : 'draining',
    models: MODELS.map((model, j) => ({
      model,
      claimed_per_s: i === 0 ? [5.9, 0.7, 1.6][j] : [0, 0, 1.5][j],
      wait_ms: i === 0 ? [6200, 90, 480][j] : [null, null, 510][j],
      ended_per_s: i === 0 ? [5.8, 0.7, 1.6][j] : [0, 0, 1.5][j],
      failed_per_s: i === 1 && j === 2 ? 0.2 : 0,
    })),
    stored_per_s: i === 0 ? 8.2 : 1.5,
    store_ms: i === 0 ? 12 : 14,
  })),
  more_workers: 0,
  receivers: { pending: 3, attempts_per_s: 2.4, failed_per_s: 0.4, mean_ms: 130 },
});

/** As `GET /v1/usage` sums up two weeks; the studio asks for other parts, and gets these. */
const usedOf = (i: number) => {
  const [succeeded, failed, canceled] = [4210 - i * 260, i % 3, 12 - (i % 7)];
  const device_s = Math.round((succeeded * 2.37 + i) * 1000) / 1000;
  const jobs = succeeded + failed + canceled;
  return { jobs, succeeded, failed, canceled, expired: 0, device_s, price: Math.round(device_s * 50) / 1e5 };
};
const USED = {
  from: '2026-11-16',
  to: '2026-11-29',
  by: ['day' as const],
  currency: 'EUR',
  rows: Array.from({ length: 14 }, (_, i) => ({
    ...{ day: `2026-11-${29 - i}`, tenant: ['acme', 'gallery-nine', 'default', 'night-batch'][i % 4] },
    ...{ key: `4fZk09Q${i % 4}`, model: ['sd15@fp16', 'whisper@1', 'minilm@1'][i % 3] },
    ...usedOf(i),
  })).reverse(),
  total: usedOf(0),
};

const USAGE = UsageSchema.parse({
  object: 'usage',
  at: NOW,
  ...USED,
  tenants: ['acme', 'gallery-nine', 'default', 'night-batch'].map((tenant, i) => ({
    tenant,
    jobs_by_hour: Array.from({ length: 24 }, (_, hour) =>
      i === 3
        ? hour < 7
          ? 400
          : 0
        : Math.max(0, Math.round((240 - i * 70) * Math.sin(((hour - 5) / 19) * Math.PI))),
    ),
    waiting: [21, 8, 5, 0][i],
    running: [9, 4, 0, 0][i],
    waiting_ms: [61_000, 24_000, 11_000, 0][i],
    stored_mb: [812.4, 96, 3.2, 0][i],
  })),
  more_tenants: 0,
});

const KEYS = ApiKeyListSchema.parse({
  object: 'list',
  data: ['acme', 'gallery-nine', 'night-batch'].map((tenant, i) => ({
    id: `4fZk09Q${i}`,
    object: 'key',
    tenant,
    name: ['web shop', 'render farm', 'nightly catalogue'][i],
    prefix: `lehr_live_4fZk09Q${i}`,
    scopes: i === 1 ? ['submit', 'read', 'cancel', 'admin'] : ['submit', 'read', 'cancel'],
    limits: {
      ...DEFAULT_LIMITS,
      ...(i === 0 && { cost_per_minute_s: 600, max_jobs: 2000 }),
      ...(i === 2 && { max_priority: 'bulk', weight: 0.5 }),
    },
    usage: { stored_mb: 0, uploaded_mb: 0 },
    usable: true,
    created_at: '2026-09-01T08:00:00.000Z',
    expires_at: i === 2 ? '2027-01-01T00:00:00.000Z' : null,
    last_used_at: i === 2 ? null : NOW,
  })),
});

const FAILURES = [
  ['numeric-error', 'Bad numbers'],
  ['invalid-audio', 'Invalid audio'],
  ['run-too-long', 'Ran too long'],
] as const;
const DEAD_LETTERS = DeadLettersSchema.parse({
  object: 'dead-letters',
  failed: FAILURES.map(([code, title], i) => ({
    job: `job_01m83xq7tp3dfb9dhcqsk0sb7${i}`,
    tenant: ['acme', 'default', 'night-batch'][i],
    type: i === 1 ? 'speech-to-text' : 'text-to-image',
    model: MODELS[i === 1 ? 2 : 0],
    code,
    title,
    attempts: [3, 1, 2][i],
    failed_at: `2026-11-23T09:${40 - i * 11}:12.000Z`,
  })),
  next_cursor: null,
  unreadable: [{ id: 'job_01m83xq7tp3dfb9dhcqsk0sb99', at: NOW, reason: 'input: invalid_type' }],
});

const QUEUES = QueueListSchema.parse({
  object: 'list',
  data: [],
  models: MODELS.map((model, i) => ({
    model,
    workers: i === 1 ? 1 : 2,
    breaker: i === 0 ? 'partly-open' : 'closed',
    paused: false,
    problem: null,
    can_load: 0,
    load_ms: { open: 2_100, 'warm-up': 900 },
    bytes: 2_300_000_000,
  })),
  paused_tenants: [],
  quarantined: [],
});

const HISTORY = [
  { action: 'changed', at: '2026-11-23T09:40:00.000Z', weight: 10, reason: 'no complaints in half an hour' },
  { action: 'deployed', at: '2026-11-23T09:05:00.000Z', weight: 2, reason: 'sharper hands' },
].map((event) => ({
  ...event,
  by: 'root',
  rollout: ROLLOUT.id,
  stable: ROLLOUT.stable,
  canary: ROLLOUT.canary,
  state: 'running',
}));
const ROLLOUTS = RolloutListSchema.parse({
  object: 'list',
  data: [
    {
      ...ROLLOUT,
      model: 'demo-diffusion',
      created_at: '2026-11-23T09:05:00.000Z',
      changed_at: '2026-11-23T09:40:00.000Z',
      reason: 'no complaints in half an hour',
      workers: { stable: 2, canary: 1 },
      outcomes: {
        ...ROLLOUT.outcomes,
        canary: { jobs: 104, failed: 1, failures: { 'numeric-error': 1 }, p95: 1.05 },
      },
      analysis: {
        ...ROLLOUT.analysis,
        steps: [],
        evidence: { failures: 0.6, slowness: 0.1 },
        pairs: { slower: 21, faster: 83 },
      },
      history: HISTORY,
    },
  ],
});

const SETTINGS = SettingListSchema.parse({
  object: 'list',
  data: [
    ['LEHR_API_KEY', null, true, 'The key callers send as a bearer token.'],
    ['LEHR_LINK_TTL_S', '900', false, 'Seconds that a link to an output stays valid.'],
    ['LEHR_MAX_WAIT_S', '600', false, 'A job with a longer estimated wait than this is refused with 503.'],
    ['LEHR_PUBLIC_URL', null, false, 'The base URL callers use; links are built from it.'],
    ['LEHR_ROLES', 'http,webhooks', false, 'What this API process does.'],
    ['LEHR_S3_BUCKET', null, false, 'Bucket for inputs and outputs.'],
  ].map(([name, value, is_secret, description]) => ({
    name,
    value,
    is_set: value !== null || is_secret === true,
    is_secret,
    description,
  })),
});

const SCHEDULES = ScheduleListSchema.parse({
  data: [
    ['Digest of calls', '30 2 * * *', null, 'active', ['succeeded', 'succeeded', 'failed', 'succeeded']],
    ['Sign of life', null, 300, 'active', ['running', 'succeeded', 'skipped', 'succeeded', 'missed']],
    ['Weekly poster', '0 9 * * 1', null, 'paused', ['refused']],
  ].map(([name, cron, every_s, status, ends], i) => ({
    id: `schedule_01jd3v9s6w000000000000000${i}`,
    object: 'schedule',
    name,
    cron,
    timezone: cron === null ? null : 'Europe/Berlin',
    every_s,
    request: { type: 'text-to-image', input: { prompt: 'a red circle' } },
    catch_up: 'last',
    overlap: i === 1 ? 'skip' : 'allow',
    status,
    created_at: NOW,
    next_runs:
      status === 'paused'
        ? []
        : [1, 2, 3, 4, 5].map((day) => new Date(Date.parse(NOW) + day * 86_400_000).toISOString()),
    last_runs: (ends as string[]).map((end, k) => ({
      at: new Date(Date.parse(NOW) - (k + 1) * 86_400_000).toISOString(),
      job: ['refused', 'skipped', 'missed'].includes(end) ? null : 'job_01jd3v9s6w0000000000000000',
      status: end,
      error: end === 'refused' ? { code: 'rate-limited', detail: 'The key has too many jobs.' } : null,
    })),
  })),
});

const ANSWERS: Readonly<Record<string, object>> = {
  '/v1/batches*': BATCHES,
  '/v1/batches/*/lines*': LINES,
  '/v1/schedules': SCHEDULES,
  '/v1/activity': ACTIVITY,
  '/v1/traffic': TRAFFIC,
  '/v1/usage*': USAGE,
  '/v1/keys': KEYS,
  '/v1/dead-letters': DEAD_LETTERS,
  '/v1/queues': QUEUES,
  '/v1/rollouts': ROLLOUTS,
  '/v1/settings': SETTINGS,
};

/** From now on, these paths have the answers above, and the clock of the page stands still. */
export async function answerWithSamples(page: Page): Promise<void> {
  await page.clock.setFixedTime(NOW);
  for (const [path, json] of Object.entries(ANSWERS)) {
    await page.route(`**${path}`, (route) => route.fulfill({ json }));
  }
  const stream = { contentType: 'text/event-stream', body: BATCH_EVENT };
  await page.route('**/v1/batches/*/events', (route) => route.fulfill(stream));
}

/** Samples of a full belt: ten lanes of two workers. */
export const SAMPLES = 200;

/** From now on, GET /v1/activity has as many samples, and each reading finds every one a step further. */
export async function answerWithFullBelt(page: Page): Promise<void> {
  let reading = 0;
  await page.route('**/v1/activity', (route) => {
    reading += 1;
    const lanes = Array.from({ length: 10 }, (_, i) => {
      const full = lane(WORKERS[i % 2], MODELS[0], SAMPLES / 10, 64 + 8 * i);
      const samples = full.samples.map((sample) => ({ ...sample, step: sample.step + reading, steps: 1000 }));
      return { ...full, samples };
    });
    const at = new Date(Date.parse(NOW) + reading * 1000).toISOString();
    return route.fulfill({ json: ActivitySchema.parse({ ...ACTIVITY, at, lanes }) });
  });
}

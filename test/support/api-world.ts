/** The API over a real Redis and a real object folder, and a worker that the test controls. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AuditLog } from '../../apps/api/src/access/audit/audit-log.ts';
import { anyOf, configuredKey } from '../../apps/api/src/access/auth/authenticator.ts';
import { KeyStore } from '../../apps/api/src/access/auth/key-store.ts';
import { StoredKeys } from '../../apps/api/src/access/auth/stored-keys.ts';
import { SessionStore } from '../../apps/api/src/access/session/session-store.ts';
import { ActionStore } from '../../apps/api/src/actions/action-store.ts';
import { createApp } from '../../apps/api/src/app.ts';
import { settingsOf } from '../../apps/api/src/base/env.ts';
import { BatchReads } from '../../apps/api/src/batches/batch-reads.ts';
import { BatchStore } from '../../apps/api/src/batches/batch-store.ts';
import { batchEndpoints } from '../../apps/api/src/dialects/openai/batch-endpoints.ts';
import { OpenAiErrorSchema } from '../../apps/api/src/dialects/openai/errors.ts';
import { ExpectedWorkers } from '../../apps/api/src/fleet/expected-workers.ts';
import { FleetView } from '../../apps/api/src/fleet/fleet-view.ts';
import { PauseStore } from '../../apps/api/src/fleet/pause-store.ts';
import { PoolScaler } from '../../apps/api/src/fleet/pool-scaler.ts';
import { Channels } from '../../apps/api/src/follow/channels.ts';
import { EventFeeds } from '../../apps/api/src/follow/event-feed.ts';
import { EventLinks } from '../../apps/api/src/follow/event-links.ts';
import { Streams } from '../../apps/api/src/follow/streams.ts';
import { JobWaits } from '../../apps/api/src/follow/wait.ts';
import { BodyReads } from '../../apps/api/src/http/bodies/body-reads.ts';
import { LargeBodies } from '../../apps/api/src/http/bodies/large-bodies.ts';
import { ActiveRequests } from '../../apps/api/src/http/turns/active-requests.ts';
import { CallerLines } from '../../apps/api/src/http/turns/caller-lines.ts';
import { admitParts } from '../../apps/api/src/jobs/admit.ts';
import { DirectCalls } from '../../apps/api/src/jobs/direct-calls.ts';
import { Files } from '../../apps/api/src/jobs/files/files.ts';
import { JobPages } from '../../apps/api/src/jobs/job-pages.ts';
import { LargeAnswers } from '../../apps/api/src/jobs/large-answers.ts';
import { Presenter } from '../../apps/api/src/jobs/present.ts';
import { UnansweredRequests } from '../../apps/api/src/jobs/requests/unanswered-requests.ts';
import { StorageQuota } from '../../apps/api/src/jobs/space/storage-quota.ts';
import { TenantUsage } from '../../apps/api/src/jobs/tenant-usage.ts';
import { DeadLetterView } from '../../apps/api/src/operations/dead-letters.ts';
import type { Api, ApiParts } from '../../apps/api/src/parts.ts';
import { RolloutStore } from '../../apps/api/src/rollouts/rollout-store.ts';
import { ScheduleStore } from '../../apps/api/src/schedules/schedule-store.ts';
import { openWebhooks } from '../../apps/api/src/webhooks/parts.ts';
import { createEgress } from '../../packages/shared/src/egress/index.ts';
import {
  createMetrics,
  DEFAULT_POOLS,
  type Job,
  JobSchema,
  type Problem,
  ProblemSchema,
  parseRegistry,
  silentLog,
  systemClock,
} from '../../packages/shared/src/index.ts';
import { openObjectStore } from '../../packages/shared/src/objects/index.ts';
import { GROUP_IDLE_MS, GroupQueues, WorkflowRunner } from '../../packages/shared/src/queue/index.ts';
import { RecordStore } from '../../packages/shared/src/records/index.ts';
import { whenDone } from './cleanup.ts';
import { ManualWorker } from './manual-worker.ts';
import { freshKeys, testRedis } from './redis.ts';
import { SECRET_KEY } from './webhook-world.ts';

export const API_KEY = 'lehr_test_key_0123456789';
export const PUBLIC_URL = 'https://lehr.test';
export const KEY_PEPPER = 'a pepper of thirty-two characters or more';
export const LINK_SECRET = 'a link secret of thirty-two characters or more';

export const MODELS = `
models:
  - name: tiny
    task: diffusion
    default: true
    versions: [{ version: "1", path: tiny }]
    defaults: { width: 64, height: 64, steps: 8, guidance: 4, sampler: euler }
    limits: { min_size: 16, max_size: 128, size_step: 8, max_pixels: 12288, max_steps: 50, max_samples: 4 }
    samplers: [ddim, euler, dpmpp_2m]
  - name: split
    task: diffusion
    versions: [{ version: a, path: a, weight: 3 }, { version: b, path: b, weight: 1 }]
`;

export interface ApiWorld {
  readonly app: Api;
  readonly parts: ApiParts;
  readonly channels: Channels;
  readonly worker: ManualWorker;
  /** Sends a request with the key; a body is sent as JSON. */
  ask(method: string, path: string, body?: unknown, init?: RequestInit): Promise<Response>;
  /** Posts a job and returns it as answered. */
  post(input?: object, rest?: object): Promise<Job>;
  get(id: string): Promise<Job>;
}

export async function apiWorld(url: string, changes: Partial<ApiParts> = {}): Promise<ApiWorld> {
  const { clock = systemClock, publicUrl = PUBLIC_URL } = changes;
  const keys = changes.keys ?? freshKeys();
  const redis = testRedis(url, 'api');
  const channels = new Channels(testRedis(url, 'subscriber'));
  const queues = await GroupQueues.open(redis, keys);
  const fleet = new FleetView(redis, keys, queues, clock);
  const root = await mkdtemp(join(tmpdir(), 'lehr-api-'));
  whenDone(() => rm(root, { recursive: true, force: true }));
  const store = await openObjectStore({
    kind: 'folder',
    root,
    publicUrl,
    linkSecret: LINK_SECRET,
    fsync: false,
  });
  const { metrics, page } = createMetrics('api');
  const audit = new AuditLog(redis, keys, {
    retentionMs: 3_600_000,
    onAppended: (action) => metrics.auditEntries.inc({ action }),
  });
  const keyStore = new KeyStore(redis, keys, audit, [KEY_PEPPER]);
  const authenticator = anyOf(configuredKey(API_KEY), new StoredKeys(keyStore, clock, silentLog));
  const records = new RecordStore(redis, keys, { retentionMs: 3_600_000 });
  const eventLinks = new EventLinks({ secret: LINK_SECRET, publicUrl: PUBLIC_URL, ttlS: 900, clock });
  const registry = changes.registry ?? parseRegistry(MODELS, undefined, 1_790_000_000);
  const pools = DEFAULT_POOLS;
  const expected = new ExpectedWorkers({ redis, keys, pools, registry, fleet, clock });
  const storage = new StorageQuota({ redis, keys, ttlMs: 60_000 });
  const pauses = new PauseStore({ redis, keys, audit, clock });
  const admission = admitParts({
    pauses,
    redis,
    keys,
    queues,
    records,
    fleet,
    expected,
    clock,
    maxWaitMs: 600_000,
    maxGroups: 256,
    groupIdleMs: GROUP_IDLE_MS,
    ...changes,
  });
  const presenter = new Presenter({
    queues,
    records,
    fleet,
    backlog: admission.backlog,
    expected,
    store,
    clock,
    publicUrl: PUBLIC_URL,
    linkTtlS: 900,
    eventLinks,
    ...changes,
  });
  const { backlog } = admission;
  const answers = largeAnswers();
  const waits = new JobWaits(channels, keys, clock);
  const batches = new BatchStore(redis, keys);
  const parts: ApiParts = {
    registry,
    modelsProblem: () => undefined,
    redis,
    keys,
    records,
    queues,
    workflows: new WorkflowRunner({ redis, keys, records, queues }),
    fleet,
    channels,
    streams: new Streams(),
    activeRequests: new ActiveRequests(clock),
    callerLines: new CallerLines(),
    unanswered: new UnansweredRequests(redis, keys),
    batches,
    schedules: new ScheduleStore(redis, keys),
    jobActions: new ActionStore(redis, keys, audit, records.retentionMs),
    batchReads: new BatchReads(batches, store, clock),
    batchEndpoints: batchEndpoints({ presenter, store, largeAnswers: answers }),
    waits,
    direct: new DirectCalls({
      redis,
      keys,
      queues,
      fleet,
      waits,
      clock,
      log: silentLog,
      quotas: admission.quotas,
    }),
    feeds: new EventFeeds({ channels, redis, keys, records, presenter, clock, log: silentLog, ...changes }),
    eventLinks,
    presenter,
    deadLetters: new DeadLetterView(redis, keys, records),
    pages: new JobPages(redis, keys, presenter),
    store,
    storePlace: 'the folder of the test',
    storage,
    files: new Files({ redis, keys, store, storage, clock, ttlMs: 60_000, maxBytes: 1_000_000 }),
    largeBodies: largeBodies(),
    largeAnswers: answers,
    bodyReads: new BodyReads(clock),
    maxUploadBytes: 1_000_000,
    linkSecret: LINK_SECRET,
    ...admission,
    scaler: new PoolScaler({ redis, keys, pools, registry, fleet, backlog, clock }),
    keyStore,
    audit,
    rollouts: new RolloutStore({ redis, keys, audit, clock }),
    pauses,
    webhooks: openWebhooks(redis, {
      keys,
      audit,
      egress: createEgress(),
      secretKeys: [SECRET_KEY],
      endedMs: 60_000,
    }),
    holdMs: 120_000,
    outputTtlMs: 60_000,
    linkTtlS: 900,
    authenticator,
    sessions: new SessionStore({
      redis,
      keys,
      audit,
      authenticator,
      clock,
      lifetimeMs: 3_600_000,
      rootProof: 'test',
    }),
    instance: 'api-of-test',
    settings: settingsOf({ LEHR_MAX_WAIT_S: 600, LEHR_API_KEY: API_KEY }),
    publicUrl: PUBLIC_URL,
    storeOrigins: [],
    trustedProxies: [],
    securityContacts: [],
    metrics,
    tenantUsage: new TenantUsage({ metrics, clock, maxNamed: 0 }),
    metricsPage: page,
    prometheusUrl: undefined,
    devicePrice: undefined,
    currency: undefined,
    clock,
    log: silentLog,
    ...changes,
  };
  const app = createApp(parts);
  const ask: ApiWorld['ask'] = async (method, path, body, init = {}) =>
    app.request(path, {
      method,
      ...init,
      headers: {
        authorization: `Bearer ${API_KEY}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(init.headers as Record<string, string>),
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
  return {
    app,
    parts,
    channels,
    ask,
    worker: await ManualWorker.start(url, parts),
    post: async (input, rest) => {
      const body = { type: 'text-to-image', input: { prompt: 'a red circle', ...input }, ...rest };
      return jobOf(await ask('POST', '/v1/jobs', body));
    },
    get: async (id) => jobOf(await ask('GET', `/v1/jobs/${id}`)),
  };
}

/** The thread needs JavaScript, so it comes from the build. */
function largeBodies(): LargeBodies {
  const bodies = new LargeBodies(
    new URL('../../apps/api/dist/http/bodies/large-body-thread.js', import.meta.url),
    [],
  );
  whenDone(() => bodies.close());
  return bodies;
}

function largeAnswers(): LargeAnswers {
  const entry = new URL('../../apps/api/dist/dialects/large-answer-thread.js', import.meta.url);
  const answers = new LargeAnswers(entry, []);
  whenDone(() => answers.close());
  return answers;
}

/** On paths that OpenAI's clients also call, the answer has OpenAI's error too. */
const AnswerSchema = ProblemSchema.extend({ error: OpenAiErrorSchema.shape.error.optional() }).strict();
export const problemOf = async (response: Response): Promise<Problem> =>
  AnswerSchema.parse(await response.json());
export const jobOf = async (response: Response): Promise<Job> =>
  JobSchema.strict().parse(await response.json());

/** Builds the parts of the API from its configuration. */
import { hostname } from 'node:os';
import {
  systemClock as clock,
  createMetrics,
  homeSecret,
  type Log,
  type ModelsFile,
  newWorkerId,
} from '@lehr/shared';
import { openConfiguredStore, storePlace } from '@lehr/shared/objects';
import { GROUP_IDLE_MS, GroupQueues, WorkflowRunner } from '@lehr/shared/queue';
import { RecordStore } from '@lehr/shared/records';
import { keysOf, type Redis } from '@lehr/shared/redis';
import { openTracing } from '@lehr/shared/tracing';
import { AuditLog } from './access/audit/audit-log.ts';
import { anyOf, configuredKey } from './access/auth/authenticator.ts';
import { KeyStore } from './access/auth/key-store.ts';
import { StoredKeys } from './access/auth/stored-keys.ts';
import { fingerprint } from './access/fingerprints.ts';
import { SessionStore } from './access/session/session-store.ts';
import { ActionStore } from './actions/action-store.ts';
import { type ApiConfig, readPools, settingsOf } from './base/env.ts';
import { BatchReads } from './batches/batch-reads.ts';
import { BatchStore } from './batches/batch-store.ts';
import { batchEndpoints } from './dialects/openai/batch-endpoints.ts';
import { ExpectedWorkers } from './fleet/expected-workers.ts';
import { FleetView } from './fleet/fleet-view.ts';
import { PauseStore } from './fleet/pause-store.ts';
import { PoolScaler } from './fleet/pool-scaler.ts';
import { Channels } from './follow/channels.ts';
import { EventFeeds } from './follow/event-feed.ts';
import { EventLinks } from './follow/event-links.ts';
import { Streams } from './follow/streams.ts';
import { JobWaits } from './follow/wait.ts';
import { BodyReads } from './http/bodies/body-reads.ts';
import { LargeBodies } from './http/bodies/large-bodies.ts';
import { ActiveRequests } from './http/turns/active-requests.ts';
import { CallerLines } from './http/turns/caller-lines.ts';
import { type AdmitParts, admitParts } from './jobs/admit.ts';
import { DirectCalls } from './jobs/direct-calls.ts';
import { Files } from './jobs/files/files.ts';
import { JobPages } from './jobs/job-pages.ts';
import { LargeAnswers } from './jobs/large-answers.ts';
import { Presenter } from './jobs/present.ts';
import { UnansweredRequests } from './jobs/requests/unanswered-requests.ts';
import { StorageQuota } from './jobs/space/storage-quota.ts';
import { TenantUsage } from './jobs/tenant-usage.ts';
import { DeadLetterView } from './operations/dead-letters.ts';
import type { ApiParts } from './parts.ts';
import { RolloutStore } from './rollouts/rollout-store.ts';
import { ScheduleStore } from './schedules/schedule-store.ts';
import { webhookOptions } from './start-webhooks.ts';
import { openWebhooks } from './webhooks/parts.ts';

/** Groups that one tenant may use within GROUP_IDLE_MS. */
const MAX_GROUPS = 256;
const HOUR_MS = 3_600_000;
/** Longer than a weekend. */
const SESSION_MS = 72 * HOUR_MS;
const DAY_MS = 24 * HOUR_MS;
const MB = 1_000_000;

export interface OpenOptions {
  readonly config: ApiConfig;
  readonly models: ModelsFile;
  readonly modelsProblem: () => string | undefined;
  /** A connection of the role `api`. */
  readonly redis: Redis;
  /** A connection of the role `api`, for lists alone. */
  readonly lists: Redis;
  /** A connection of the role `subscriber`. */
  readonly subscriber: Redis;
  readonly publicUrl: string;
  readonly log: Log;
}

export async function openParts(options: OpenOptions): Promise<ApiParts> {
  const { config, redis, publicUrl, log } = options;
  const { registry } = options.models;
  const linkSecret = config.LEHR_STORE_SECRET ?? (await homeSecret(config.LEHR_HOME, 'store-secret')).value;
  const stores = await openStores(options, linkSecret);
  const { keys, queues, records, fleet, expected, pools } = stores;
  const { metrics, page } = createMetrics('api', { processMetrics: true });
  const tracing = await openTracing(config, 'lehr-api', log);
  if (tracing) page.showExemplars();
  const audit = new AuditLog(redis, keys, {
    retentionMs: Math.round(config.LEHR_AUDIT_DAYS * DAY_MS),
    onAppended: (action) => metrics.auditEntries.inc({ action }),
  });
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
    maxWaitMs: config.LEHR_MAX_WAIT_S * 1000,
    maxGroups: MAX_GROUPS,
    groupIdleMs: GROUP_IDLE_MS,
  });
  const views = openViews(options, { ...stores, ...admission }, linkSecret);
  return {
    ...stores,
    ...views,
    direct: new DirectCalls({ redis, ...stores, ...views, ...admission, clock, log }),
    ...(await openAuth(options, stores, audit)),
    audit,
    rollouts: new RolloutStore({
      redis,
      keys,
      audit,
      clock,
      operatorUrl: config.LEHR_OPERATOR_WEBHOOK_URL,
      onChanged: ({ model, action }) => metrics.rolloutChanges.inc({ model, action }),
    }),
    pauses,
    ...admission,
    scaler: new PoolScaler({ redis, keys, pools, registry, fleet, backlog: admission.backlog, clock }),
    ...configured(config, linkSecret),
    registry,
    modelsProblem: options.modelsProblem,
    redis,
    activeRequests: new ActiveRequests(clock),
    callerLines: new CallerLines(),
    unanswered: new UnansweredRequests(redis, keys),
    ...keptRequests(redis, stores, audit),
    batchEndpoints: batchEndpoints({ ...stores, ...views }),
    webhooks: openWebhooks(redis, await webhookOptions(config, keys, audit)),
    // Of the same form as the ids of workers.
    instance: newWorkerId(hostname()),
    publicUrl,
    metrics,
    tenantUsage: new TenantUsage({ metrics, clock, maxNamed: config.LEHR_METRICS_TENANTS }),
    metricsPage: page,
    log,
    tracing,
  };
}

/** Requests that are kept and worked on later. */
function keptRequests(
  redis: Redis,
  { keys, store, records }: Pick<ApiParts, 'keys' | 'store' | 'records'>,
  audit: AuditLog,
) {
  const batches = new BatchStore(redis, keys);
  return {
    batches,
    batchReads: new BatchReads(batches, store, clock),
    schedules: new ScheduleStore(redis, keys),
    jobActions: new ActionStore(redis, keys, audit, records.retentionMs),
  };
}

/** What is read of the configuration as it stands. */
const configured = (config: ApiConfig, linkSecret: string) => ({
  linkSecret: config.LEHR_S3_BUCKET === undefined ? linkSecret : undefined,
  holdMs: config.LEHR_HOLD_S * 1000,
  storeOrigins: storeOrigins(config),
  trustedProxies: config.LEHR_TRUSTED_PROXIES,
  securityContacts: config.LEHR_SECURITY_CONTACT,
  prometheusUrl: config.LEHR_PROMETHEUS_URL,
  devicePrice: config.LEHR_DEVICE_HOUR_PRICE,
  currency: config.LEHR_CURRENCY,
  settings: settingsOf(config),
});

/** What is stored: queues and records in Redis, objects and uploads. */
async function openStores({ config, models, redis, publicUrl }: OpenOptions, linkSecret: string) {
  const keys = keysOf(config.LEHR_NAMESPACE);
  const queues = await GroupQueues.open(redis, keys);
  const records = new RecordStore(redis, keys, {
    retentionMs: Math.round(config.LEHR_RECORD_TTL_H * HOUR_MS),
    usageMs: config.LEHR_USAGE_DAYS * DAY_MS,
  });
  const store = await openConfiguredStore(config, { publicUrl, linkSecret });
  const outputTtlMs = Math.round(config.LEHR_OUTPUT_TTL_H * HOUR_MS);
  const maxUploadBytes = config.LEHR_MAX_UPLOAD_MB * MB;
  const pools = readPools(config, models.registry);
  const storage = new StorageQuota({ redis, keys, ttlMs: outputTtlMs });
  const fleet = new FleetView(redis, keys, queues, clock);
  return {
    keys,
    queues,
    records,
    workflows: new WorkflowRunner({ redis, keys, records, queues }),
    pools,
    fleet,
    expected: new ExpectedWorkers({ redis, keys, pools, registry: models.registry, fleet, clock }),
    store,
    storePlace: storePlace(config),
    storage,
    files: new Files({ redis, keys, store, storage, clock, ttlMs: outputTtlMs, maxBytes: maxUploadBytes }),
    bodyReads: new BodyReads(clock),
    largeBodies: new LargeBodies(new URL('./http/bodies/large-body-thread.js', import.meta.url)),
    largeAnswers: new LargeAnswers(new URL('./dialects/large-answer-thread.js', import.meta.url)),
    maxUploadBytes,
    outputTtlMs,
  };
}

type Stores = Awaited<ReturnType<typeof openStores>>;

/** What shows jobs and follows them. */
function openViews(options: OpenOptions, stores: Stores & Pick<AdmitParts, 'backlog'>, secret: string) {
  const { config, redis, lists, subscriber, publicUrl, log } = options;
  const { keys, records } = stores;
  const linkTtlS = config.LEHR_LINK_TTL_S;
  const channels = new Channels(subscriber);
  const eventLinks = new EventLinks({ secret, publicUrl, ttlS: linkTtlS, clock });
  const shown = { ...stores, clock, publicUrl, linkTtlS, eventLinks };
  const presenter = new Presenter(shown);
  const listed = new RecordStore(lists, keys, { retentionMs: records.retentionMs });
  return {
    linkTtlS,
    channels,
    streams: new Streams(),
    eventLinks,
    presenter,
    deadLetters: new DeadLetterView(lists, keys, listed),
    pages: new JobPages(lists, keys, new Presenter({ ...shown, records: listed })),
    waits: new JobWaits(channels, keys, clock),
    feeds: new EventFeeds({ channels, redis, keys, records, presenter, clock, log }),
  };
}

/** The root key, the keys that administrators create, and the sessions of the studio. */
async function openAuth({ config, redis, log }: OpenOptions, { keys }: Stores, audit: AuditLog) {
  const peppers = config.LEHR_KEY_PEPPER ?? [(await homeSecret(config.LEHR_HOME, 'key-pepper')).value];
  const keyStore = new KeyStore(redis, keys, audit, peppers);
  const rootKey = config.LEHR_API_KEY ?? (await localKey(config.LEHR_HOME, log));
  const authenticator = anyOf(configuredKey(rootKey), new StoredKeys(keyStore, clock, log));
  const sessions = new SessionStore({
    redis,
    keys,
    audit,
    authenticator,
    clock,
    lifetimeMs: SESSION_MS,
    rootProof: fingerprint(rootKey, 'session'),
  });
  return { keyStore, authenticator, sessions };
}

async function localKey(home: string, log: Log): Promise<string> {
  const { value, path, created } = await homeSecret(home, 'api-key');
  log.info({ path }, created ? 'created an API key' : 'read the API key');
  return value;
}

/** For the pages that show outputs. The bucket is in the host or in the path of a link, depending on the server. */
function storeOrigins(config: ApiConfig): readonly string[] {
  const { LEHR_S3_BUCKET: bucket, AWS_REGION: region } = config;
  if (bucket === undefined) return [];
  const endpoint = config.LEHR_S3_PUBLIC_ENDPOINT ?? config.AWS_ENDPOINT_URL_S3;
  const { protocol, host, origin } = new URL(endpoint ?? `https://s3.${region}.amazonaws.com`);
  return [origin, `${protocol}//${bucket}.${host}`];
}

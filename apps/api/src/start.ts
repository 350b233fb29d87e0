/** Builds the parts of the API, serves the app over them, and closes them. */
import {
  systemClock as clock,
  createMetrics,
  homeSecret,
  type Log,
  type ModelsFile,
  objectsFolder,
  type Settings,
} from '@lehr/shared';
import { type ObjectStore, openObjectStore } from '@lehr/shared/objects';
import { GroupQueues, Janitor, WorkflowRunner } from '@lehr/shared/queue';
import { RecordStore } from '@lehr/shared/records';
import { assertNoEviction, keysOf, openRedis, type Redis, redisReady } from '@lehr/shared/redis';
import type { ApiParts } from './api.ts';
import { createApp, createOperationApp } from './app.ts';
import { anyOf } from './auth/authenticator.ts';
import { KeyStore } from './auth/key-store.ts';
import { oneKey } from './auth/one-key.ts';
import { StoredKeys } from './auth/stored-keys.ts';
import { sweepAbandoned } from './calls/cancel-abandoned.ts';
import { UnansweredRequests } from './calls/unanswered-requests.ts';
import { type ApiConfig, isLoopback } from './env.ts';
import { Files } from './files/files.ts';
import { sweepOutputs } from './files/sweep-outputs.ts';
import { FleetView } from './fleet/fleet-view.ts';
import { Channels } from './follow/channels.ts';
import { EventFeeds } from './follow/event-feed.ts';
import { EventLinks } from './follow/event-links.ts';
import { JobWaits } from './follow/wait.ts';
import { admissionParts } from './jobs/admission-parts.ts';
import { countExpired } from './jobs/count-expired.ts';
import { Presenter } from './jobs/present.ts';
import { type Listener, listen } from './listen.ts';
import { StartError } from './start-error.ts';
import { type RunningWebhooks, startWebhooks, webhookOptions } from './start-webhooks.ts';
import { openWebhooks } from './webhooks/parts.ts';

const REDIS_TIMEOUT_MS = 5_000;
const HOUR_MS = 3_600_000;
const MB = 1_000_000;
/** For slow readers of large answers; held requests are answered at once. */
const CLOSE_GRACE_MS = 5_000;
const JANITOR_EVERY_MS = 5_000;
const RECONCILE_EVERY_MS = 60_000;

export interface RunningApi {
  /** The URL for callers. */
  readonly url: string;
  readonly port: number;
  /** Answers held requests with their jobs as they are, ends streams, lets other requests finish, and closes all parts. */
  stop(): Promise<void>;
}

/** Throws ConfigError or StartError when it cannot start; nothing is left open then. */
export async function startApi({ config, models }: Settings<ApiConfig>, log: Log): Promise<RunningApi> {
  const listener = await listen(config.LEHR_HOST, config.LEHR_PORT);
  const redis = openRedis(config.LEHR_REDIS_URL, 'api');
  const subscriber = openRedis(config.LEHR_REDIS_URL, 'subscriber', 'api-subscriber');
  let webhooks: RunningWebhooks | undefined;
  const disconnect = (): void => {
    redis.disconnect();
    subscriber.disconnect();
  };
  try {
    await reachRedis(redis);
    const url = config.LEHR_PUBLIC_URL ?? localUrl(config.LEHR_HOST, listener, log);
    const parts = await openParts(config, { models, redis, subscriber, publicUrl: url, log });
    const janitor = new Janitor({
      ...parts,
      everyMs: JANITOR_EVERY_MS,
      reconcileEveryMs: RECONCILE_EVERY_MS,
      onExpired: countExpired(parts.metrics),
    });
    const roles = config.LEHR_ROLES.split(',');
    if (roles.includes('webhooks')) webhooks = await startWebhooks(config, parts);
    const app = roles.includes('http') ? createApp(parts) : createOperationApp(parts);
    listener.serve(app.fetch);
    janitor.start();
    const stopAbandonedSweep = sweepAbandoned(parts);
    const stopOutputSweep = sweepOutputs(parts, config.LEHR_OUTPUT_TTL_H * HOUR_MS);
    log.info({ url, port: listener.port, docs: `${url}/docs`, roles }, 'API is listening');
    const stop = async (): Promise<void> => {
      parts.waits.stop();
      parts.feeds.stop();
      await Promise.all([
        listener.close(CLOSE_GRACE_MS),
        janitor.stop(),
        stopAbandonedSweep(),
        stopOutputSweep(),
        webhooks?.stop(CLOSE_GRACE_MS),
      ]);
      disconnect();
    };
    return { url, port: listener.port, stop };
  } catch (error) {
    await Promise.all([listener.close(0), webhooks?.stop(0)]);
    disconnect();
    throw error;
  }
}

interface Opened {
  readonly models: ModelsFile;
  readonly redis: Redis;
  readonly subscriber: Redis;
  readonly publicUrl: string;
  readonly log: Log;
}

async function openParts(config: ApiConfig, opened: Opened): Promise<ApiParts> {
  const { models, redis, subscriber, publicUrl, log } = opened;
  const keys = keysOf(config.LEHR_NAMESPACE);
  const queues = await GroupQueues.open(redis, keys);
  const fleet = new FleetView(redis, keys, queues, clock);
  const secret = config.LEHR_STORE_SECRET ?? (await homeSecret(config.LEHR_HOME, 'store-secret')).value;
  const store = await openStore(config, publicUrl, secret);
  const records = new RecordStore(redis, keys, { retentionMs: config.LEHR_RECORD_TTL_H * HOUR_MS });
  const channels = new Channels(subscriber);
  const eventLinks = new EventLinks({ secret, publicUrl, ttlS: config.LEHR_LINK_TTL_S, clock });
  const presenter = new Presenter({
    queues,
    records,
    fleet,
    store,
    clock,
    publicUrl,
    linkTtlS: config.LEHR_LINK_TTL_S,
    eventLinks,
  });
  const pepper = config.LEHR_KEY_PEPPER ?? (await homeSecret(config.LEHR_HOME, 'key-pepper')).value;
  const keyStore = new KeyStore(redis, keys, pepper);
  const webhooks = openWebhooks(redis, await webhookOptions(config, keys));
  const rootKey = config.LEHR_API_KEY ?? (await localKey(config.LEHR_HOME, log));
  const maxUploadBytes = config.LEHR_MAX_UPLOAD_MB * MB;
  const { metrics, page } = createMetrics('api', { processMetrics: true });
  return {
    registry: models.registry,
    registryChangedAtS: models.changedAtS,
    redis,
    publicUrl,
    log,
    keys,
    queues,
    workflows: new WorkflowRunner({ redis, keys, records, queues }),
    fleet,
    store,
    files: new Files({
      redis,
      keys,
      store,
      clock,
      ttlMs: config.LEHR_OUTPUT_TTL_H * HOUR_MS,
      maxBytes: maxUploadBytes,
    }),
    maxUploadBytes,
    linkSecret: config.LEHR_STORE === 'folder' ? secret : undefined,
    records,
    channels,
    unanswered: new UnansweredRequests(redis, keys),
    waits: new JobWaits(channels, keys, clock),
    feeds: new EventFeeds({ channels, redis, keys, records, presenter, clock, log }),
    eventLinks,
    presenter,
    ...admissionParts({ redis, keys, queues, fleet, clock, maxWaitMs: config.LEHR_MAX_WAIT_S * 1000 }),
    keyStore,
    webhooks,
    holdMs: config.LEHR_HOLD_S * 1000,
    outputTtlMs: config.LEHR_OUTPUT_TTL_H * HOUR_MS,
    authenticator: anyOf(oneKey(rootKey), new StoredKeys(keyStore, clock, log)),
    metrics,
    metricsPage: page,
    clock,
  };
}

async function localKey(home: string, log: Log): Promise<string> {
  const { value, path, created } = await homeSecret(home, 'api-key');
  log.info({ path }, created ? 'created an API key' : 'read the API key');
  return value;
}

async function openStore(config: ApiConfig, publicUrl: string, linkSecret: string): Promise<ObjectStore> {
  if (config.LEHR_STORE === 's3') {
    return openObjectStore({
      kind: 's3',
      // readSettings refuses a store without it.
      bucket: config.LEHR_S3_BUCKET ?? '',
      region: config.LEHR_S3_REGION,
      ...(config.LEHR_S3_ENDPOINT && { endpoint: config.LEHR_S3_ENDPOINT }),
      ...(config.LEHR_S3_PUBLIC_ENDPOINT && { publicEndpoint: config.LEHR_S3_PUBLIC_ENDPOINT }),
    });
  }
  return openObjectStore({ kind: 'folder', root: objectsFolder(config.LEHR_HOME), publicUrl, linkSecret });
}

async function reachRedis(redis: Redis): Promise<void> {
  try {
    await redisReady(redis, REDIS_TIMEOUT_MS);
    await assertNoEviction(redis);
  } catch (error) {
    throw new StartError('unavailable', (error as Error).message, { cause: error });
  }
}

/** Links need an address that a client can connect to, so a wildcard becomes the loopback address. */
function localUrl(host: string, { port }: Listener, log: Log): string {
  const isWildcard = host === '0.0.0.0' || host === '::';
  if (!isLoopback(host)) {
    log.warn({ host }, 'LEHR_PUBLIC_URL is not set: links lead to an address that callers may not reach');
  }
  const name = isWildcard ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host;
  return `http://${name}:${port}`;
}

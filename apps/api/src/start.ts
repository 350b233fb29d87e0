/** Starts the API: connects to Redis, serves the app over its parts, runs the background sweeps, and stops all of it. */
import {
  claimStore,
  LehrError,
  type Log,
  ModelsWatch,
  reloadOnHangUp,
  type Settings,
  systemClock,
} from '@lehr/shared';
import { GroupQueues, JANITOR_ACTIONS, Janitor, WorkflowRunner } from '@lehr/shared/queue';
import { RecordStore } from '@lehr/shared/records';
import {
  assertNoEviction,
  assertNothingDropped,
  openRedis,
  type Redis,
  redisAddress,
  redisReady,
} from '@lehr/shared/redis';
import { runActions } from './actions/run-actions.ts';
import { createApp, createHealthApp, createOperationsApp } from './app.ts';
import { type ApiConfig, isLoopback } from './base/env.ts';
import { StartError } from './base/start-error.ts';
import { feedBatches } from './batches/feeder.ts';
import { checkSecrets } from './check-secrets.ts';
import { endRevokedStreams } from './follow/streams.ts';
import { connectionOwner, fairAdmission } from './http/fair-admission.ts';
import { type Listeners, openListeners } from './http/listen.ts';
import { countExpired } from './jobs/cancel.ts';
import { sweepOutputs } from './jobs/files/sweep-outputs.ts';
import { deleteLeftovers } from './jobs/leftovers.ts';
import { releaseScheduled } from './jobs/release-due.ts';
import { sweepAbandoned } from './jobs/requests/unanswered-requests.ts';
import { keepRecordsBounded } from './jobs/space/record-space.ts';
import { openParts } from './open-parts.ts';
import { reportCounts, reportProcess } from './operations/report.ts';
import type { ApiParts } from './parts.ts';
import { runJudge } from './rollouts/run-judge.ts';
import { runSchedules } from './schedules/run-schedules.ts';
import { type RunningWebhooks, startWebhooks } from './start-webhooks.ts';

const REDIS_TIMEOUT_MS = 5_000;
/** For slow readers of large answers; held requests are answered at once. */
const CLOSE_GRACE_MS = 5_000;
const JANITOR_EVERY_MS = 5_000;
const RECONCILE_EVERY_MS = 60_000;
/** What every janitor does, and what only that of an API process does. */
const COUNTED_ACTIONS = [...JANITOR_ACTIONS, 'canceled', 'files', 'leftovers', 'released'] as const;

export interface RunningApi {
  /** The URL for callers. */
  readonly url: string;
  readonly port: number;
  /** Answers held requests with their jobs as they are, ends streams, lets other requests finish, and closes all parts. */
  stop(): Promise<void>;
}

/** Throws ConfigError or StartError when it cannot start; nothing is left open then. */
export async function startApi({ config, models }: Settings<ApiConfig>, log: Log): Promise<RunningApi> {
  const listeners = await openListeners(config, log);
  const { background, disconnect, ...connections } = connect(config);
  const { redis } = connections;
  let webhooks: RunningWebhooks | undefined;
  try {
    await reachRedis(redis);
    const url = config.LEHR_PUBLIC_URL ?? localUrl(config.LEHR_HOST, listeners, log);
    const watch = new ModelsWatch({ models, clock: systemClock, log });
    const modelsProblem = () => watch.problem;
    const parts = await openParts({ config, models, modelsProblem, ...connections, publicUrl: url, log });
    await checkSecrets(config, parts);
    await checkStore(parts);
    const rounds = await over(background, parts);
    const janitor = newJanitor(rounds);
    const roles = config.LEHR_ROLES.split(',');
    if (roles.includes('webhooks')) webhooks = await startWebhooks(config, parts);
    const { port, operationsPort } = listeners;
    const hasOperationsApp = operationsPort !== undefined;
    const create = roles.includes('http') ? createApp : createHealthApp;
    listeners.serve({
      app: fairAdmission(create(parts, hasOperationsApp).fetch, parts),
      onConnection: () => parts.activeRequests.connected(),
      ownerOf: connectionOwner(parts),
      operations: hasOperationsApp ? createOperationsApp(parts).fetch : undefined,
    });
    janitor.start();
    watch.start();
    reloadOnHangUp(watch);
    const stops = [
      sweepAbandoned(rounds),
      sweepOutputs(rounds, parts.outputTtlMs),
      endRevokedStreams(rounds),
      keepRecordsBounded(rounds),
      deleteLeftovers(rounds),
      releaseScheduled(rounds),
      reportCounts(rounds),
      reportProcess(rounds, config.LEHR_ROLES),
      runJudge(rounds),
      feedBatches(rounds),
      runSchedules(rounds),
      runActions(rounds),
    ];
    log.info({ url, port, operationsPort, docs: `${url}/docs`, roles }, 'API is listening');
    const stop = async (): Promise<void> => {
      parts.waits.stop();
      parts.feeds.stop();
      watch.stop();
      await Promise.all([
        listeners.close(CLOSE_GRACE_MS),
        janitor.stop(),
        ...stops.map((end) => end()),
        webhooks?.stop(CLOSE_GRACE_MS),
      ]);
      await Promise.all([parts.largeBodies.close(), parts.largeAnswers.close(), parts.tracing?.close()]);
      disconnect();
    };
    return { url, port, stop };
  } catch (error) {
    await Promise.all([listeners.close(0), webhooks?.stop(0)]);
    disconnect();
    throw error;
  }
}

/** No list and no round in the background delays what other requests ask of Redis. */
function connect(config: ApiConfig) {
  const address = redisAddress(config);
  const all = {
    redis: openRedis(address, 'api'),
    lists: openRedis(address, 'api', 'api-lists'),
    background: openRedis(address, 'api', 'api-background'),
    subscriber: openRedis(address, 'subscriber', 'api-subscriber'),
  };
  const disconnect = (): void => {
    for (const each of Object.values(all)) each.disconnect();
  };
  return { ...all, disconnect };
}

/** The same parts over another connection to Redis. */
async function over<Parts extends ApiParts>(redis: Redis, parts: Parts): Promise<Parts> {
  const { keys } = parts;
  const queues = await GroupQueues.open(redis, keys);
  const records = new RecordStore(redis, keys, { retentionMs: parts.records.retentionMs });
  const workflows = new WorkflowRunner({ redis, keys, records, queues });
  return { ...parts, redis, queues, records, workflows };
}

function newJanitor(parts: Awaited<ReturnType<typeof openParts>>): Janitor {
  const { janitorActions } = parts.metrics;
  // From now on every action has a value, so that a rate counts the first one too.
  for (const action of COUNTED_ACTIONS) janitorActions.inc({ action }, 0);
  return new Janitor({
    ...parts,
    everyMs: JANITOR_EVERY_MS,
    reconcileEveryMs: RECONCILE_EVERY_MS,
    groupIdleMs: parts.groupIdleMs,
    onExpired: countExpired(parts.metrics),
    onDone: (action, count) => janitorActions.inc({ action }, count),
  });
}

/** An API whose store is down starts, and /readyz says so: jobs can be accepted and shown meanwhile. */
async function checkStore(parts: ApiParts): Promise<void> {
  try {
    await claimStore({ ...parts, place: parts.storePlace });
  } catch (error) {
    if (!(error instanceof LehrError)) throw error;
    parts.log.warn({ error }, 'the store does not answer');
  }
}

async function reachRedis(redis: Redis): Promise<void> {
  try {
    await redisReady(redis, REDIS_TIMEOUT_MS);
    await assertNoEviction(redis);
    await assertNothingDropped(redis);
  } catch (error) {
    throw new StartError('unavailable', (error as Error).message, { cause: error });
  }
}

/** Links need an address that a client can connect to, so a wildcard becomes the loopback address. */
function localUrl(host: string, { port }: Pick<Listeners, 'port'>, log: Log): string {
  const isWildcard = host === '0.0.0.0' || host === '::';
  if (!isLoopback(host)) {
    log.warn({ host }, 'LEHR_PUBLIC_URL is not set: links lead to an address that callers may not reach');
  }
  const name = isWildcard ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host;
  return `http://${name}:${port}`;
}

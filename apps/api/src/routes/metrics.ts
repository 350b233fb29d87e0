/**
 * `/metrics` for Prometheus. It needs no key, as scrapers expect, so it has no secrets and nothing about a single job. Queue
 * metrics come from the API and not from workers, because a scaler must see them while there is no worker.
 */
import { type Metrics, parseGroupQueueName, type Registry, type Scale } from '@lehr/shared';
import { type GroupDepth, pauseOf, readDepths } from '@lehr/shared/queue';
import { UnreadableList } from '@lehr/shared/records';
import { droppedCommands, memoryShare } from '@lehr/shared/redis';
import { serving } from '../fleet/fleet-view.ts';
import type { Api, ApiParts, CoreParts, OperationsParts } from '../parts.ts';
import { readRollouts, showRollouts } from '../rollouts/show-metrics.ts';

export function metricsRoute(app: Api, parts: ApiParts): void {
  parts.metricsPage.beforeScrape(() => refresh(parts));
  app.get('/metrics', async (c) => {
    const { text, contentType } = await parts.metricsPage.answer(c.req.header('accept'));
    return c.body(text, 200, { 'content-type': contentType });
  });
}

/** Sets the gauges that are read at each scrape. Without Redis they are absent, because zero would be wrong. */
async function refresh(parts: ApiParts): Promise<void> {
  const { redis, keys, queues, fleet, metrics, registry, webhooks, log } = parts;
  const { queueJobs, queueOldestJobAge, modelPaused, workers, webhooksPending, unreadable } = metrics;
  const { redisMemory, redisDropped, redisLatency, scheduledJobs, tenantsPaused } = metrics;
  const { scaleDesired, scaleWorkers, scaleWaiting, scaleStart } = metrics;
  metrics.heldRequests.set(parts.waits.size);
  metrics.waitingRequests.set(parts.activeRequests.waiting);
  metrics.eventStreams.set(parts.feeds.size);
  metrics.modelsFileProblem.set(parts.modelsProblem() === undefined ? 0 : 1);
  for (const gauge of [queueJobs, queueOldestJobAge, modelPaused, workers, webhooksPending]) gauge.reset();
  // A gauge without labels is 0 after `reset`, and absent after `remove`.
  const single = [redisMemory, redisDropped, redisLatency, unreadable, scheduledJobs, tenantsPaused];
  for (const gauge of single) gauge.remove();
  for (const gauge of [scaleDesired, scaleWorkers, scaleWaiting, scaleStart]) gauge.reset();
  showRollouts(metrics, []);
  try {
    // All is read before the first gauge is set: another scrape could reset the gauges between two readings.
    const [
      depths,
      reports,
      { outbox, undelivered },
      memory,
      dropped,
      listed,
      scales,
      rollouts,
      pauses,
      latencyMs,
      scheduled,
    ] = await Promise.all([
      readDepths(redis, keys, queues),
      fleet.workers(),
      webhooks.deliveries.counts(),
      memoryShare(redis),
      droppedCommands(redis),
      new UnreadableList(redis, keys).count(),
      readScales(parts),
      readRollouts(parts.rollouts),
      parts.pauses.list(),
      pingMs(parts),
      redis.zcard(keys.scheduledJobs),
    ]);
    for (const { model, version, queued, running, oldestMs } of byModel(registry, depths)) {
      queueJobs.set({ model, version, state: 'queued' }, queued);
      queueJobs.set({ model, version, state: 'running' }, running);
      queueOldestJobAge.set({ model, version }, oldestMs / 1000);
      modelPaused.set({ model, version }, pauseOf(pauses, `${model}@${version}`) ? 1 : 0);
      const all = reports.filter((worker) => worker.models.some(({ ref }) => ref === `${model}@${version}`));
      const taking = serving(reports, `${model}@${version}`).length;
      workers.set({ model, version, draining: 'false' }, taking);
      workers.set({ model, version, draining: 'true' }, all.length - taking);
    }
    tenantsPaused.set(pauses.filter(({ tenant }) => tenant !== null).length);
    showScales(metrics, scales);
    showRollouts(metrics, rollouts);
    webhooksPending.set({ stage: 'outbox' }, outbox);
    webhooksPending.set({ stage: 'delivery' }, undelivered);
    unreadable.set(listed);
    scheduledJobs.set(scheduled);
    showRedis(metrics, memory, dropped, latencyMs);
  } catch (error) {
    log.warn({ error }, 'queue metrics could not be read');
    metrics.redisUp.set(0);
  }
}

function showRedis(
  metrics: ApiParts['metrics'],
  memory: number | undefined,
  dropped: number,
  latencyMs: number,
) {
  if (memory !== undefined) metrics.redisMemory.set(memory);
  metrics.redisDropped.set(dropped);
  metrics.redisLatency.set(latencyMs / 1000);
  metrics.redisUp.set(1);
}

/** With the wait behind the other commands of this scrape and of the process, as every request has it. */
async function pingMs({ redis, clock }: CoreParts): Promise<number> {
  const startedAt = clock.monotonic();
  await redis.ping();
  return clock.monotonic() - startedAt;
}

async function readScales({ scaler }: OperationsParts): Promise<readonly Scale[]> {
  const scales = await Promise.all(scaler.names.map((pool) => scaler.of(pool, { isAsked: false })));
  return scales.filter((scale) => scale !== undefined);
}

function showScales(metrics: Metrics<'api'>, scales: readonly Scale[]): void {
  for (const scale of scales) {
    const { pool } = scale;
    metrics.scaleDesired.set({ pool }, scale.desired_workers);
    metrics.scaleStart.set({ pool }, scale.start_s);
    for (const state of ['starting', 'live', 'draining', 'quarantined'] as const) {
      const count = scale.members.filter((each) => each.state === state).length;
      metrics.scaleWorkers.set({ pool, state }, count);
    }
    for (const [name, seconds] of Object.entries(scale.waiting_s)) {
      metrics.scaleWaiting.set({ pool, class: name }, seconds);
    }
  }
}

interface ModelDepth {
  readonly model: string;
  readonly version: string;
  queued: number;
  running: number;
  oldestMs: number;
}

/** Sums the groups by model version. Every registered version is included, so that its series never disappear. */
function byModel(registry: Registry, depths: readonly GroupDepth[]): ModelDepth[] {
  const sums = new Map<string, ModelDepth>();
  const of = (model: string, version: string): ModelDepth => {
    const key = `${model}@${version}`;
    const sum = sums.get(key) ?? { model, version, queued: 0, running: 0, oldestMs: 0 };
    sums.set(key, sum);
    return sum;
  };
  for (const { name, versions } of registry.models) {
    for (const { version } of versions) of(name, version);
  }
  for (const { queue, waiting, running, oldestAgeMs = 0 } of depths) {
    const group = parseGroupQueueName(queue);
    if (!group) continue;
    const sum = of(group.model.name, group.model.version);
    sum.queued += waiting;
    sum.running += running;
    sum.oldestMs = Math.max(sum.oldestMs, oldestAgeMs);
  }
  return [...sums.values()];
}

/** What waits and runs now, where, and how many workers it needs. */
import { createRoute, z } from '@hono/zod-openapi';
import {
  ActivitySchema,
  BREAKER_STATES,
  type BreakerState,
  formatModelRef,
  LehrError,
  type ModelLoad,
  PRIORITY_CLASSES,
  type PriorityClass,
  parseGroupQueueName,
  type Queue,
  type QueueList,
  QueueListSchema,
  type Registry,
  readFleet,
  readModelLoads,
  ScaleSchema,
  type WorkerStatus,
} from '@lehr/shared';
import { type GroupDepth, pauseOf, readDepths } from '@lehr/shared/queue';
import { ActivityView } from '../fleet/activity.ts';
import { fleetIndex } from '../fleet/fleet-index.ts';
import { forTenants, serving } from '../fleet/fleet-view.ts';
import { requires } from '../http/middleware/auth.ts';
import { BEARER, problemsWithKey } from '../http/responses.ts';
import type { Api, ApiParts, CoreParts, OperationsParts } from '../parts.ts';

const queueList = createRoute({
  method: 'get',
  path: '/v1/queues',
  operationId: 'listQueues',
  tags: ['queues'],
  summary: 'List the queues',
  description:
    'One queue for each group of jobs that can share a batch: one model version and, for images, one size.',
  security: BEARER,
  middleware: requires('read'),
  responses: {
    200: {
      description: 'Every group that has had a job recently.',
      content: { 'application/json': { schema: QueueListSchema } },
    },
    ...problemsWithKey(),
  },
});

const activity = createRoute({
  method: 'get',
  path: '/v1/activity',
  operationId: 'getActivity',
  tags: ['queues'],
  summary: 'Show what Lehr is doing now',
  description:
    'The workers, the running batches with every sample and its step, and who waits. Samples and waiting jobs of other tenants are ' +
    'shown without their ids and owners. It is read at most once a second, so a request per second is enough.',
  security: BEARER,
  middleware: requires('read'),
  responses: {
    200: {
      description: 'The state of the last second.',
      content: { 'application/json': { schema: ActivitySchema } },
    },
    ...problemsWithKey(),
  },
});

const scaleOfPool = createRoute({
  method: 'get',
  path: '/v1/scale/{pool}',
  operationId: 'getScale',
  tags: ['queues'],
  summary: 'Say how many workers a pool should have',
  description:
    'For what starts and stops workers, such as KEDA (scaler `metrics-api`, valueLocation `desired_workers`, targetValue 1) or ' +
    '`lehr fleet`. It is computed at most once a second. Without LEHR_POOLS there is one pool, `all`. Needs the scope `scale` or `admin`.',
  security: BEARER,
  middleware: requires('scale', 'admin'),
  request: { params: z.object({ pool: z.string().max(64).meta({ example: 'all' }) }) },
  responses: {
    200: {
      description: 'The number, why it is this number, and what it was computed from.',
      content: { 'application/json': { schema: ScaleSchema } },
    },
    ...problemsWithKey('invalid-request', 'not-found'),
  },
});

export function queuesRoute(app: Api, parts: ApiParts): void {
  const { redis, keys, queues, backlog, maxWaitMs, registry } = parts;
  app.openapi(queueList, async (c) => {
    const [depths, reports, loads, pauses] = await Promise.all([
      readDepths(redis, keys, queues),
      readFleet(redis, keys),
      readModelLoads(redis, keys),
      parts.pauses.list(),
    ]);
    const isPaused = (model: string): boolean => pauseOf(pauses, model) !== undefined;
    const { tenant, scopes } = c.var.caller;
    const isAdmin = scopes.has('admin');
    const workers = isAdmin ? reports : reports.map(forTenants);
    const shown = await Promise.all(
      depths.map(async (depth) => {
        const group = parseGroupQueueName(depth.queue);
        if (!group) return [];
        const model = formatModelRef(group.model);
        const waits = await backlog.waits(depth.queue, model);
        const queue = present(depth, group, workers, waits, maxWaitMs);
        // Nobody knows when a pause ends.
        return [isPaused(model) ? { ...queue, paused: true, wait_ms: null } : { ...queue, paused: false }];
      }),
    );
    const data = shown.flat();
    const models = modelsOf(registry, data, workers, loads).map((each) => ({
      ...each,
      paused: isPaused(each.model),
    }));
    const quarantined = workers.flatMap(({ id, quarantined: reason }) =>
      reason === undefined ? [] : [{ worker: id, reason }],
    );
    const paused_tenants = pauses.flatMap((pause) =>
      pause.tenant !== null && (isAdmin || pause.tenant === tenant) ? [pause.tenant] : [],
    );
    return c.json({ object: 'list' as const, data, models, paused_tenants, quarantined }, 200);
  });
}

export function activityRoute(app: Api, { redis, keys, queues, clock }: CoreParts): void {
  const view = new ActivityView(redis, keys, queues, clock);
  app.openapi(activity, async (c) => {
    const { tenant, scopes } = c.var.caller;
    c.header('cache-control', 'no-store');
    return c.json(await view.for({ tenant, isAdmin: scopes.has('admin') }), 200);
  });
}

export function scaleRoute(app: Api, { scaler }: OperationsParts): void {
  app.openapi(scaleOfPool, async (c) => {
    const { pool } = c.req.valid('param');
    const scale = await scaler.of(pool, { isAsked: true });
    if (!scale) {
      throw new LehrError(
        'not-found',
        `There is no pool ${JSON.stringify(pool)}. Pools: ${scaler.names.join(', ')}.`,
      );
    }
    c.header('cache-control', 'no-store');
    return c.json(scale, 200);
  });
}

function present(
  depth: GroupDepth,
  group: NonNullable<ReturnType<typeof parseGroupQueueName>>,
  fleet: readonly WorkerStatus[],
  waits: Record<PriorityClass, number>,
  maxWaitMs: number,
): Omit<Queue, 'paused'> {
  const model = formatModelRef(group.model);
  const workers = serving(fleet, model).length;
  const lanes = fleet.flatMap(({ id, lanes }) =>
    lanes
      .filter((lane) => lane.queue === depth.queue)
      .map(({ samples, rows, row_cap, row_steps_per_s }) => ({
        worker: id,
        samples,
        rows,
        row_cap,
        row_steps_per_s,
      })),
  );
  return {
    name: depth.queue,
    task: group.task,
    model,
    waiting: depth.waiting,
    running: depth.running,
    oldest_age_ms: depth.oldestAgeMs ?? null,
    workers,
    wait_ms: workers > 0 ? waits : null,
    breaker: breakerOf(waits, maxWaitMs),
    lanes,
  };
}

/** Without workers the estimate assumes one, so that jobs are accepted before the first worker starts. */
function breakerOf(waits: Record<PriorityClass, number>, maxWaitMs: number): BreakerState {
  const refused = PRIORITY_CLASSES.filter((priority) => waits[priority] > maxWaitMs);
  if (refused.length === 0) return 'closed';
  return refused.length < PRIORITY_CLASSES.length ? 'partly-open' : 'open';
}

function modelsOf(
  registry: Registry,
  queues: readonly Pick<Queue, 'model' | 'breaker'>[],
  fleet: readonly WorkerStatus[],
  loads: ReadonlyMap<string, ModelLoad>,
): Omit<QueueList['models'][number], 'paused'>[] {
  return registry.models.flatMap(({ name, versions }) =>
    versions.map(({ version }) => {
      const model = formatModelRef({ name, version });
      const states = queues.filter((queue) => queue.model === model).map(({ breaker }) => breaker);
      const worst = Math.max(0, ...states.map((state) => BREAKER_STATES.indexOf(state)));
      const failing = fleet.flatMap(({ unavailable }) => unavailable).find(({ ref }) => ref === model);
      return {
        model,
        workers: serving(fleet, model).length,
        breaker: BREAKER_STATES[worst],
        problem: failing?.reason ?? null,
        can_load: fleetIndex(fleet).canLoad(model).length,
        ...presentLoad(loads.get(model)),
      };
    }),
  );
}

const presentLoad = (load: ModelLoad = {}): Pick<QueueList['models'][number], 'load_ms' | 'bytes'> => ({
  load_ms: Object.fromEntries(Object.entries(load).map(([stage, { ms }]) => [stage, Math.round(ms)])),
  bytes: load.open?.bytes ?? null,
});

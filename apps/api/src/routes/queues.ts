import { createRoute } from '@hono/zod-openapi';
import {
  formatModelRef,
  parseGroupQueueName,
  type Queue,
  QueueListSchema,
  type WorkerStatus,
} from '@lehr/shared';
import { type GroupDepth, readDepths } from '@lehr/shared/queue';
import type { Api, ApiParts } from '../api.ts';
import { serving } from '../jobs/fleet-view.ts';
import { requires } from '../middleware/auth.ts';
import { BEARER, problemsWithKey } from './responses.ts';

const route = createRoute({
  method: 'get',
  path: '/v1/queues',
  operationId: 'listQueues',
  tags: ['queues'],
  summary: 'See how full the queues are',
  description: 'A queue is a group: the jobs that may share a batch, of one model version and picture size.',
  security: BEARER,
  middleware: requires('read'),
  responses: {
    200: {
      description: 'Every group that was ever used.',
      content: { 'application/json': { schema: QueueListSchema } },
    },
    ...problemsWithKey(),
  },
});

export function queuesRoute(app: Api, { redis, keys, queues, fleet }: ApiParts): void {
  app.openapi(route, async (c) => {
    const [depths, workers] = await Promise.all([readDepths(redis, keys, queues), fleet.workers()]);
    return c.json({ object: 'list' as const, data: depths.flatMap((depth) => present(depth, workers)) }, 200);
  });
}

function present(depth: GroupDepth, fleet: readonly WorkerStatus[]): Queue[] {
  const group = parseGroupQueueName(depth.queue);
  if (!group) return [];
  const model = formatModelRef(group.model);
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
  return [
    {
      name: depth.queue,
      task: group.task,
      model,
      waiting: depth.waiting,
      running: depth.running,
      oldest_age_ms: depth.oldestAgeMs ?? null,
      workers: serving(fleet, model).length,
      lanes,
    },
  ];
}

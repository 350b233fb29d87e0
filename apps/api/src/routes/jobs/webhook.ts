/** The webhook deliveries of a job or a batch: their log, and redelivery. */
import { createRoute, z } from '@hono/zod-openapi';
import {
  type BatchId,
  DeliveryLogSchema,
  DeliverySchema,
  type DeliveryView,
  isJobId,
  type JobId,
  LehrError,
} from '@lehr/shared';
import type { Caller } from '../../access/auth/authenticator.ts';
import { requires } from '../../http/middleware/auth.ts';
import { BEARER, problemsWithKey } from '../../http/responses.ts';
import { findJob } from '../../jobs/find.ts';
import type { Api, ApiParts, CoreParts, JobParts } from '../../parts.ts';
import type { StoredDelivery } from '../../webhooks/deliveries/deliveries.ts';
import { isRepeatable } from '../../webhooks/event-message.ts';
import type { WebhookParts } from '../../webhooks/parts.ts';
import { IdParams } from '../params.ts';

const shared = { tags: ['webhooks'], security: BEARER, request: { params: IdParams } };

const logRoute = createRoute({
  ...shared,
  method: 'get',
  path: '/v1/jobs/{id}/webhook',
  operationId: 'getWebhookLog',
  summary: 'Get the webhook log of a job',
  description:
    'All events that were sent or will be sent, and all attempts with the replies of the receiver.',
  middleware: requires('read'),
  responses: {
    200: {
      description: 'Both lists are empty for a job without a webhook.',
      content: { 'application/json': { schema: DeliveryLogSchema } },
    },
    ...problemsWithKey('not-found'),
  },
});

const redeliverRoute = createRoute({
  ...shared,
  method: 'post',
  path: '/v1/jobs/{id}/webhook/redeliver',
  operationId: 'redeliverWebhook',
  summary: 'Redeliver the last webhook event of a job',
  description:
    'Sends it at once with the same id and bytes and counts its attempts from zero, also to a receiver that was closed. Takes no body.',
  middleware: requires('submit'),
  responses: {
    202: {
      description: 'The delivery is scheduled.',
      content: { 'application/json': { schema: DeliverySchema } },
    },
    ...problemsWithKey('not-found', 'conflict', 'too-large'),
  },
});

const ofBatch = {
  request: { params: z.object({ id: z.string().meta({ description: 'The id of the batch.' }) }) },
};

const batchLogRoute = createRoute({
  ...logRoute,
  ...ofBatch,
  path: '/v1/batches/{id}/webhook',
  operationId: 'getBatchWebhookLog',
  summary: 'Get the webhook log of a batch',
  description: 'The event of its end, and all attempts with the replies of the receiver.',
});

const redeliverBatchRoute = createRoute({
  ...redeliverRoute,
  ...ofBatch,
  path: '/v1/batches/{id}/webhook/redeliver',
  operationId: 'redeliverBatchWebhook',
  summary: 'Redeliver the webhook event of a batch',
});

export function jobWebhookRoutes(app: Api, parts: ApiParts): void {
  const { deliveries } = parts.webhooks;

  app.openapi(logRoute, async (c) => {
    const { id } = c.req.valid('param');
    const { job, found } = await findDeliveries(parts, c.var.caller, id);
    c.header('cache-control', 'private, no-cache');
    return c.json(await logOf(parts.webhooks, job, found), 200);
  });

  app.openapi(redeliverRoute, async (c) => {
    const { job } = await findDeliveries(parts, c.var.caller, c.req.valid('param').id);
    return c.json(presentDelivery(await redeliver(parts.webhooks, job)), 202);
  });

  app.openapi(batchLogRoute, async (c) => {
    const { id } = await parts.batches.find(c.var.caller.tenant, c.req.valid('param').id);
    c.header('cache-control', 'private, no-cache');
    return c.json(await logOf(parts.webhooks, id, await deliveries.of(id)), 200);
  });

  app.openapi(redeliverBatchRoute, async (c) => {
    const { id } = await parts.batches.find(c.var.caller.tenant, c.req.valid('param').id);
    return c.json(presentDelivery(await redeliver(parts.webhooks, id)), 202);
  });
}

async function logOf({ deliveries }: WebhookParts, id: JobId | BatchId, found: readonly StoredDelivery[]) {
  const attempts = found.length > 0 ? await deliveries.attempts(id as JobId) : [];
  return { deliveries: found.map(presentDelivery), attempts };
}

/** Deliveries can outlive the record of their job: a receiver that fails is retried for days. */
async function findDeliveries(
  { records, webhooks }: CoreParts & JobParts,
  caller: Caller,
  id: string,
): Promise<{ job: JobId; found: readonly StoredDelivery[] }> {
  const found = isJobId(id) ? await webhooks.deliveries.of(id) : [];
  const [first] = found;
  if (first?.tenant === caller.tenant) return { job: first.job, found };
  return { job: (await findJob(records, caller, id)).id, found: [] };
}

/** Sends the last event of a job or a batch again, with its id and bytes unchanged. Throws `conflict` when there is none. */
async function redeliver(parts: WebhookParts, id: JobId | BatchId): Promise<StoredDelivery> {
  const { deliveries, receivers } = parts;
  const last = (await deliveries.of(id)).filter(({ event }) => !isRepeatable(event)).at(-1);
  if (!last) throw new LehrError('conflict', 'There is no webhook event yet.');
  await receivers.reopen(last);
  await deliveries.restart(last);
  return (await deliveries.read(last))?.delivery ?? last;
}

const presentDelivery = (delivery: StoredDelivery): DeliveryView => ({
  webhook_id: delivery.id,
  event: delivery.event,
  url: delivery.url,
  state: delivery.state,
  created_at: iso(delivery.created_at),
  attempts: delivery.tries,
  next_attempt_at: delivery.state === 'pending' ? iso(delivery.due_at) : null,
});

const iso = (ms: number): string => new Date(ms).toISOString();

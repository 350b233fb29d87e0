/** The secret that signs the webhooks of a tenant, and test deliveries to a receiver. */
import { createRoute, type RouteConfig, z } from '@hono/zod-openapi';
import {
  BatchWebhookBodySchema,
  LehrError,
  newJobId,
  ShownSecretSchema,
  type TenantId,
  WebhookBodySchema,
  WebhookSecretSchema,
  WebhookTestRequestSchema,
  WebhookTestResultSchema,
} from '@lehr/shared';
import { redisNow } from '@lehr/shared/redis';
import { actorOf, requires } from '../http/middleware/auth.ts';
import { BEARER, problemsWithKey } from '../http/responses.ts';
import type { Api, CoreParts, JobParts } from '../parts.ts';
import { webhookId } from '../webhooks/event-message.ts';
import { checkUrl } from '../webhooks/hook.ts';
import type { ShownSecret } from '../webhooks/secrets/webhook-secrets.ts';

const shared = { tags: ['webhooks'], security: BEARER };
const shownSecret = (description: string) => ({
  description,
  content: { 'application/json': { schema: ShownSecretSchema } },
});

const listRoute = createRoute({
  ...shared,
  method: 'get',
  path: '/v1/webhooks/secret',
  operationId: 'listWebhookSecrets',
  summary: 'List your webhook secrets',
  description:
    'Without their values. The first one is current; a previous one signs for a day after a rotation.',
  middleware: requires('read'),
  responses: {
    200: {
      description: 'All secrets that sign now.',
      content: {
        'application/json': {
          schema: z.object({ object: z.literal('list'), data: z.array(WebhookSecretSchema) }),
        },
      },
    },
    ...problemsWithKey(),
  },
});

const showRoute = createRoute({
  ...shared,
  method: 'post',
  path: '/v1/webhooks/secret',
  operationId: 'showWebhookSecret',
  summary: 'Get your webhook secret',
  description:
    'It is shown only once. A receiver verifies the signature of a webhook with it. Takes no body.',
  middleware: requires('submit'),
  responses: { 201: shownSecret('The secret.'), ...problemsWithKey('conflict', 'too-large') },
});

const rotateRoute = createRoute({
  ...shared,
  method: 'post',
  path: '/v1/webhooks/secret/rotate',
  operationId: 'rotateWebhookSecret',
  summary: 'Rotate your webhook secret',
  description:
    'The new secret signs from now on; the old one signs as well for a day. At most four sign at once; a fifth is a 409 until the ' +
    'oldest one stops. Takes no body.',
  middleware: requires('submit'),
  responses: {
    201: shownSecret('The new secret. It is shown only here.'),
    ...problemsWithKey('conflict', 'too-large'),
  },
});

const testRoute = createRoute({
  ...shared,
  method: 'post',
  path: '/v1/webhooks/test',
  operationId: 'testWebhook',
  summary: 'Test a webhook receiver',
  description: 'Sends one signed `webhook.test` event at once and returns the reply. It is not retried.',
  middleware: requires('submit'),
  request: {
    body: { required: true, content: { 'application/json': { schema: WebhookTestRequestSchema } } },
  },
  responses: {
    200: {
      description: 'The reply of the receiver, or why there was none.',
      content: { 'application/json': { schema: WebhookTestResultSchema } },
    },
    ...problemsWithKey('too-large', 'unsupported-media', 'invalid-request', 'invalid-input', 'rate-limited'),
  },
});

/** The request that a receiver gets, for the OpenAPI document; docs/webhooks.md explains it. */
const JOB_WEBHOOK: RouteConfig = {
  method: 'post',
  path: 'job',
  operationId: 'onJobEvent',
  tags: ['webhooks'],
  summary: 'A job event',
  description:
    'Posted to the `webhook.url` of a job at least once, in no fixed order. All attempts for an event have the same `webhook-id`.',
  request: {
    headers: z.object({
      'webhook-id': z.string(),
      'webhook-timestamp': z.string().meta({ description: 'Unix seconds of this attempt.' }),
      'webhook-signature': z.string().meta({
        description:
          '`v1,` and base64 of HMAC-SHA256 over `id.timestamp.body`; several are separated by spaces.',
      }),
    }),
    body: { content: { 'application/json': { schema: WebhookBodySchema } } },
  },
  responses: {
    204: { description: 'Any 2xx: the event is delivered.' },
    410: { description: 'Nothing more is sent to this URL.' },
  },
};

const BATCH_WEBHOOK: RouteConfig = {
  ...JOB_WEBHOOK,
  path: 'batch',
  operationId: 'onBatchEvent',
  summary: 'The end of a batch',
  description:
    'Posted to the `webhook.url` of a batch at least once, with the same `webhook-id` on every attempt.',
  request: {
    ...JOB_WEBHOOK.request,
    body: { content: { 'application/json': { schema: BatchWebhookBodySchema } } },
  },
};

const TEST_EVENT = 'webhook.test';
/** Tests that one tenant can run at once: it chooses their URL, and there is no other limit. */
const MAX_TESTS = 2;

export function webhookRoutes(app: Api, { webhooks, redis }: JobParts & CoreParts): void {
  const { secrets, sender, receivers, egress } = webhooks;
  app.openAPIRegistry.registerWebhook(JOB_WEBHOOK);
  app.openAPIRegistry.registerWebhook(BATCH_WEBHOOK);
  const runningTests = new Map<TenantId, number>();

  app.openapi(listRoute, async (c) => {
    const data = (await secrets.list(c.var.caller.tenant, actorOf(c))).map(({ createdAt, expiresAt }) => ({
      created_at: iso(createdAt),
      expires_at: expiresAt === undefined ? null : iso(expiresAt),
    }));
    c.header('cache-control', 'private, no-cache');
    return c.json({ object: 'list' as const, data }, 200);
  });

  app.openapi(showRoute, async (c) => {
    c.header('cache-control', 'no-store');
    return c.json(present(await secrets.show(c.var.caller.tenant, actorOf(c))), 201);
  });

  app.openapi(rotateRoute, async (c) => {
    c.header('cache-control', 'no-store');
    return c.json(present(await secrets.rotate(c.var.caller.tenant, actorOf(c))), 201);
  });

  app.openapi(testRoute, async (c) => {
    const { tenant } = c.var.caller;
    const { url } = c.req.valid('json');
    checkUrl(egress, url, '/url');
    const running = runningTests.get(tenant) ?? 0;
    if (running >= MAX_TESTS) {
      throw new LehrError('rate-limited', `${running} tests are already running.`, { retryAfterS: 1 });
    }
    runningTests.set(tenant, running + 1);
    try {
      const now = await redisNow(redis);
      const id = webhookId(newJobId(), TEST_EVENT);
      const body = JSON.stringify({ type: TEST_EVENT, timestamp: iso(now), data: {} });
      const message = { id, event: TEST_EVENT, url, signer: tenant, body };
      const { attempt } = await sender.send(message, now);
      const delivered = attempt.status !== null && attempt.status >= 200 && attempt.status < 300;
      if (delivered) await receivers.markHealthy({ tenant, url });
      return c.json({ ...attempt, delivered }, 200);
    } finally {
      const left = (runningTests.get(tenant) ?? 1) - 1;
      if (left > 0) runningTests.set(tenant, left);
      else runningTests.delete(tenant);
    }
  });
}

const present = ({ key, createdAt }: ShownSecret) => ({ key, created_at: iso(createdAt) });
const iso = (ms: number): string => new Date(ms).toISOString();

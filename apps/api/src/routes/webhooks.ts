/** The secret that signs a tenant's webhooks, and trying a receiver out. */
import { createRoute, type RouteConfig, z } from '@hono/zod-openapi';
import {
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
import type { Api, ApiParts } from '../api.ts';
import { requires } from '../middleware/auth.ts';
import { BEARER, problemsWithKey } from '../responses.ts';
import { checkUrl } from '../webhooks/hook.ts';
import { webhookId } from '../webhooks/message-id.ts';
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
  summary: 'See which secrets sign your webhooks',
  description:
    'Not the secrets themselves. The first is the current one; others sign for a day after a rotation.',
  middleware: requires('read'),
  responses: {
    200: {
      description: 'Every secret that signs now.',
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
  summary: 'Get the secret that signs your webhooks',
  description: 'Shown this once; takes no body. A receiver checks with it that a webhook is yours.',
  middleware: requires('submit'),
  responses: { 201: shownSecret('The secret.'), ...problemsWithKey('conflict') },
});

const rotateRoute = createRoute({
  ...shared,
  method: 'post',
  path: '/v1/webhooks/secret/rotate',
  operationId: 'rotateWebhookSecret',
  summary: 'Replace the secret',
  description: 'The new one signs from now on, and for a day the old one too; takes no body.',
  middleware: requires('submit'),
  responses: { 201: shownSecret('The new secret. It is shown this once.'), ...problemsWithKey() },
});

const testRoute = createRoute({
  ...shared,
  method: 'post',
  path: '/v1/webhooks/test',
  operationId: 'testWebhook',
  summary: 'Try a receiver out',
  description: 'Sends one signed `webhook.test` event now and says what came back. It is not tried again.',
  middleware: requires('submit'),
  request: {
    body: { required: true, content: { 'application/json': { schema: WebhookTestRequestSchema } } },
  },
  responses: {
    200: {
      description: 'What came back, or why nothing did.',
      content: { 'application/json': { schema: WebhookTestResultSchema } },
    },
    ...problemsWithKey('too-large', 'unsupported-media', 'invalid-request', 'invalid-input', 'rate-limited'),
  },
});

/** What a receiver gets, for the document; docs/webhooks.md says the rest. */
const JOB_WEBHOOK: RouteConfig = {
  method: 'post',
  path: 'job',
  operationId: 'onJobEvent',
  tags: ['webhooks'],
  summary: 'Something happened to a job',
  description:
    'Posted to the `webhook.url` of a job. At least once, in no order, under one `webhook-id` for ever.',
  request: {
    headers: z.object({
      'webhook-id': z.string(),
      'webhook-timestamp': z.string().meta({ description: 'Unix seconds of this attempt.' }),
      'webhook-signature': z.string().meta({
        description: '`v1,` and base64 of HMAC-SHA256 over `id.timestamp.body`; several with spaces between.',
      }),
    }),
    body: { content: { 'application/json': { schema: WebhookBodySchema } } },
  },
  responses: {
    204: { description: 'Any 2xx: taken.' },
    410: { description: 'Nothing more is sent to this URL.' },
  },
};

const TEST_EVENT = 'webhook.test';
/** Tests one tenant may have under way: they go wherever he says, as often as he says. */
const MAX_TESTS = 2;

export function webhookRoutes(app: Api, { webhooks, redis }: ApiParts): void {
  const { secrets, sender, receivers, egress } = webhooks;
  app.openAPIRegistry.registerWebhook(JOB_WEBHOOK);
  const underWay = new Map<TenantId, number>();

  app.openapi(listRoute, async (c) => {
    const data = (await secrets.list(c.var.caller.tenant)).map(({ createdAt, expiresAt }) => ({
      created_at: iso(createdAt),
      expires_at: expiresAt === undefined ? null : iso(expiresAt),
    }));
    c.header('cache-control', 'private, no-cache');
    return c.json({ object: 'list' as const, data }, 200);
  });

  app.openapi(showRoute, async (c) => {
    c.header('cache-control', 'no-store');
    return c.json(present(await secrets.show(c.var.caller.tenant)), 201);
  });

  app.openapi(rotateRoute, async (c) => {
    c.header('cache-control', 'no-store');
    return c.json(present(await secrets.rotate(c.var.caller.tenant)), 201);
  });

  app.openapi(testRoute, async (c) => {
    const { tenant } = c.var.caller;
    const { url } = c.req.valid('json');
    checkUrl(egress, url, '/url');
    const running = underWay.get(tenant) ?? 0;
    if (running >= MAX_TESTS) {
      throw new LehrError('rate-limited', `${running} tests are under way.`, { retryAfterS: 1 });
    }
    underWay.set(tenant, running + 1);
    try {
      const now = await redisNow(redis);
      const id = webhookId(newJobId(), TEST_EVENT);
      const body = JSON.stringify({ type: TEST_EVENT, timestamp: iso(now), data: {} });
      const message = { id, event: TEST_EVENT, url, secret: tenant, body };
      const { attempt } = await sender.send(message, now);
      const delivered = attempt.status !== null && attempt.status >= 200 && attempt.status < 300;
      if (delivered) await receivers.markHealthy({ tenant, url });
      return c.json({ ...attempt, delivered }, 200);
    } finally {
      const left = (underWay.get(tenant) ?? 1) - 1;
      if (left > 0) underWay.set(tenant, left);
      else underWay.delete(tenant);
    }
  });
}

const present = ({ key, createdAt }: ShownSecret) => ({ key, created_at: iso(createdAt) });
const iso = (ms: number): string => new Date(ms).toISOString();

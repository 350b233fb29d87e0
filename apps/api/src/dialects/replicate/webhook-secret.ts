/** The webhook secret for Replicate's clients. Unlike the native route, it can be read any number of times. */
import { createRoute, z } from '@hono/zod-openapi';
import { requires } from '../../http/middleware/auth.ts';
import { BEARER, problemsWithKey } from '../../http/responses.ts';
import type { Api, JobParts } from '../../parts.ts';

const route = createRoute({
  method: 'get',
  path: '/v1/webhooks/default/secret',
  operationId: 'getDefaultWebhookSecret',
  tags: ['replicate'],
  summary: 'Get the secret that signs your webhooks',
  description: 'The current secret, the same as on the native routes. Needs a key with the scope `submit`.',
  security: BEARER,
  middleware: requires('submit'),
  responses: {
    200: {
      description: 'The secret.',
      content: { 'application/json': { schema: z.object({ key: z.string() }) } },
    },
    ...problemsWithKey(),
  },
});

export function webhookSecretRoute(app: Api, { webhooks }: JobParts): void {
  app.openapi(route, async (c) => {
    const [key] = await webhooks.secrets.signing(c.var.caller.tenant);
    if (key === undefined) throw new Error('A tenant always has a secret. This is a bug in Lehr.');
    c.header('cache-control', 'no-store');
    return c.json({ key }, 200);
  });
}

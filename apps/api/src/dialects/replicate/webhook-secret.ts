/** The secret that signs your webhooks, as Replicate's clients ask for it: as often as they like. */
import { createRoute, z } from '@hono/zod-openapi';
import type { Api, ApiParts } from '../../api.ts';
import { requires } from '../../middleware/auth.ts';
import { BEARER, problemsWithKey } from '../../responses.ts';

const route = createRoute({
  method: 'get',
  path: '/v1/webhooks/default/secret',
  operationId: 'getDefaultWebhookSecret',
  tags: ['replicate'],
  summary: 'Get the secret that signs your webhooks',
  description: 'The current one, the same as on the native routes; needs the right to submit.',
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

export function webhookSecretRoute(app: Api, { webhooks }: ApiParts): void {
  app.openapi(route, async (c) => {
    const [key] = await webhooks.secrets.signing(c.var.caller.tenant);
    if (key === undefined) throw new Error('A tenant always has a secret. This is a bug in Lehr.');
    c.header('cache-control', 'no-store');
    return c.json({ key }, 200);
  });
}

/** The audit log; requires the scope `admin`. */
import { createRoute, z } from '@hono/zod-openapi';
import { AUDIT_ACTIONS, AuditListSchema, TenantSchema } from '@lehr/shared';
import { requires } from '../http/middleware/auth.ts';
import { BEARER, problemsWithKey } from '../http/responses.ts';
import type { AccessParts, Api, JobParts } from '../parts.ts';
import { AUDIT_ENTRY } from './examples.ts';
import { queryNumber } from './params.ts';

const AuditQuery = z.strictObject({
  tenant: TenantSchema.optional().meta({ description: 'Entries about this tenant.' }),
  action: z.enum(AUDIT_ACTIONS).optional(),
  limit: queryNumber(z.coerce.number().int().min(1).max(100).default(20)),
  cursor: z
    .string()
    .regex(/^[1-9]\d{0,14}-\d{1,10}$/, 'is not a cursor of this list')
    .optional()
    .meta({ description: '`next_cursor` of the previous page.' }),
});

const route = createRoute({
  method: 'get',
  path: '/v1/audit',
  operationId: 'listAuditEntries',
  tags: ['audit'],
  summary: 'List the audit log, newest first',
  description:
    'Who created, changed and revoked keys, got or rotated a webhook secret, and was refused at the pages under /admin. ' +
    'With a filter that few entries match, a page can be short and still have a next one.',
  security: BEARER,
  middleware: requires('admin'),
  request: { query: AuditQuery },
  responses: {
    200: {
      description: 'A page. `Link` has the URL of the next one.',
      content: {
        'application/json': {
          schema: AuditListSchema,
          example: { object: 'list', data: [AUDIT_ENTRY], next_cursor: null, has_more: false },
        },
      },
    },
    ...problemsWithKey('invalid-request'),
  },
});

export function auditRoute(app: Api, { audit, presenter }: AccessParts & JobParts): void {
  app.openapi(route, async (c) => {
    const { limit, cursor, ...filter } = c.req.valid('query');
    const { entries, next = null } = await audit.page(limit, cursor, filter);
    if (next !== null) {
      const query = new URLSearchParams({ ...c.req.query(), cursor: next });
      c.header('link', `<${presenter.url(`/v1/audit?${query}`)}>; rel="next"`);
    }
    c.header('cache-control', 'private, no-cache');
    return c.json(
      { object: 'list' as const, data: [...entries], next_cursor: next, has_more: next !== null },
      200,
    );
  });
}

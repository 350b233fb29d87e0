/** What tenants use: a tenant reads its own use, and a key with the scope `admin` that of all. */
import { createRoute, z } from '@hono/zod-openapi';
import {
  LehrError,
  type TenantId,
  TenantSchema,
  USAGE_PARTS,
  type UsagePart,
  UsageSchema,
} from '@lehr/shared';
import { refusal } from '../base/field-problems.ts';
import { requires } from '../http/middleware/auth.ts';
import { BEARER, problemsWithKey } from '../http/responses.ts';
import { TenantUseView } from '../operations/tenant-use.ts';
import {
  DAY_MS,
  dateOf,
  dayNumber,
  MAX_DAYS,
  type UsageQuery,
  UsageView,
  usageCsv,
} from '../operations/usage.ts';
import type { Api, ApiParts } from '../parts.ts';

const date = z.iso.date('must be a day such as 2026-11-29').optional();

const Query = z.strictObject({
  from: date.meta({ description: 'The first day, in UTC. Default: the last one.', example: '2026-11-01' }),
  to: date.meta({ description: `The last day; at most ${MAX_DAYS} days. Default: today.` }),
  by: z
    .string()
    .regex(
      new RegExp(`^(?:${USAGE_PARTS.join('|')})(?:,(?:${USAGE_PARTS.join('|')}))*$`),
      `must be some of ${USAGE_PARTS.join(', ')}, with commas`,
    )
    .default('tenant')
    .meta({ description: `By what it is summed up: some of ${USAGE_PARTS.join(', ')}, with commas.` }),
  tenant: TenantSchema.optional().meta({ description: 'Only this tenant.' }),
  key: z.string().min(1).max(100).optional().meta({ description: 'Only jobs of the API key with this id.' }),
  model: z.string().min(1).max(200).optional().meta({ description: 'Only this `name` or `name@version`.' }),
  format: z.enum(['json', 'csv']).optional().meta({
    description: 'Default: `csv` when the request has `Accept: text/csv`, else `json`.',
  }),
});

const route = createRoute({
  method: 'get',
  path: '/v1/usage',
  operationId: 'getUsage',
  tags: ['operations'],
  summary: 'Show what each tenant uses',
  description:
    'Ended jobs and device time of a range of days (UTC), by day, tenant, API key or model, with prices when the operator states one; and ' +
    'the jobs of the last 24 hours by hour, and what waits, runs and is stored now. A key without the scope `admin` reads the use of its own ' +
    'tenant. As CSV it has the days alone.',
  security: BEARER,
  middleware: requires('read', 'admin'),
  request: { query: Query },
  responses: {
    200: {
      description: 'The use of the tenants.',
      content: {
        'application/json': { schema: UsageSchema },
        'text/csv': { schema: z.string().meta({ description: 'A header and the rows.' }) },
      },
    },
    ...problemsWithKey('invalid-request'),
  },
});

export function usageRoute(app: Api, parts: ApiParts): void {
  const now = new TenantUseView(parts);
  const days = new UsageView(parts);
  const { currency, devicePrice } = parts;

  app.openapi(route, async (c) => {
    const caller = c.get('caller');
    const { format, ...asked } = c.req.valid('query');
    const isAdmin = caller.scopes.has('admin');
    const query = queryOf(asked, parts.clock.now(), isAdmin ? undefined : caller.tenant);
    const { rows, total } = await days.read(caller.tenant, query);
    c.header('cache-control', 'no-store');
    c.header('vary', 'accept');
    const wantsCsv = format === undefined && c.req.header('accept')?.includes('text/csv');
    if (format === 'csv' || wantsCsv) {
      const name = `usage-${dateOf(query.from)}-${dateOf(query.to)}.csv`;
      c.header('content-type', 'text/csv; charset=utf-8');
      c.header('content-disposition', `attachment; filename="${name}"`);
      return c.body(usageCsv(rows, query.by, { currency, hasPrice: devicePrice !== undefined }), 200);
    }
    const [from, to] = [dateOf(query.from), dateOf(query.to)];
    const current = isAdmin ? await now.get() : await now.of(caller.tenant);
    const by = [...query.by];
    return c.json(
      { object: 'usage' as const, from, to, by, currency: currency ?? null, rows, total, ...current },
      200,
    );
  });
}

/** `own`: the only tenant that the caller may read. */
function queryOf(
  { from, to, by, tenant, ...filter }: Omit<z.output<typeof Query>, 'format'>,
  now: number,
  own: TenantId | undefined,
): UsageQuery {
  if (own !== undefined && tenant !== undefined && tenant !== own)
    throw new LehrError('forbidden', 'This key may read the use of its own tenant only.');
  const last = to === undefined ? dayNumber(now) : Date.parse(to) / DAY_MS;
  const first = from === undefined ? last : Date.parse(from) / DAY_MS;
  if (first > last)
    throw refusal('invalid-request', [{ pointer: '?from', detail: 'must not be after `to`' }]);
  if (last - first >= MAX_DAYS)
    throw refusal('invalid-request', [
      { pointer: '?from', detail: `must be at most ${MAX_DAYS} days before \`to\`` },
    ]);
  const wanted = by.split(',') as UsagePart[];
  const parts = USAGE_PARTS.filter((part) => wanted.includes(part));
  return { ...filter, from: first, to: last, by: parts, tenant: (tenant as TenantId | undefined) ?? own };
}

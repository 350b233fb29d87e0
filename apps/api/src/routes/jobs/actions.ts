/** Actions on all jobs that match a filter. */
import { createRoute, z } from '@hono/zod-openapi';
import {
  JobActionCountSchema,
  JobActionListSchema,
  JobActionRequestSchema,
  JobActionSchema,
} from '@lehr/shared';
import { checkAction, countJobs, createAction, presentAction } from '../../actions/create-action.ts';
import { actorOf, guardQuota, requires } from '../../http/middleware/auth.ts';
import { BEARER, problemsWithKey } from '../../http/responses.ts';
import type { Api, ApiParts } from '../../parts.ts';
import { JOB_ACTION, JOB_ACTION_REQUEST } from '../examples.ts';

const PATH = '/v1/job-actions';
const IdParams = z.object({
  id: z.string().meta({ description: 'The id of the action.', example: JOB_ACTION.id }),
});
const shared = { tags: ['jobs'], security: BEARER };
const shown = (description: string) => ({
  description,
  content: { 'application/json': { schema: JobActionSchema, example: JOB_ACTION } },
});

const createActionRoute = createRoute({
  ...shared,
  method: 'post',
  path: PATH,
  operationId: 'createJobAction',
  summary: 'Cancel, retry, delete or prioritize all jobs that match a filter',
  description:
    'Covers the jobs that were made before the request, page by page, while others have their turn. With `dry_run` it only counts them. Needs the ' +
    'scope that the same for one job needs: `cancel` for cancel and delete, `submit` for retry and prioritize. Retries count against the limits of ' +
    'the key: the action waits until there is room.',
  request: {
    body: {
      required: true,
      content: { 'application/json': { schema: JobActionRequestSchema, example: JOB_ACTION_REQUEST } },
    },
  },
  responses: {
    200: {
      description: 'With `dry_run`: how many jobs match.',
      content: {
        'application/json': {
          schema: JobActionCountSchema,
          example: { object: 'job_action_count', count: 128, count_is_exact: true },
        },
      },
    },
    202: shown('The action has begun.'),
    ...problemsWithKey('invalid-request', 'too-large', 'unsupported-media', 'invalid-input', 'rate-limited'),
  },
});

const listRoute = createRoute({
  ...shared,
  method: 'get',
  path: PATH,
  operationId: 'listJobActions',
  summary: 'List your actions on jobs, newest first',
  middleware: requires('read'),
  responses: {
    200: {
      description: 'The last hundred, of those that are still kept.',
      content: { 'application/json': { schema: JobActionListSchema, example: { data: [JOB_ACTION] } } },
    },
    ...problemsWithKey(),
  },
});

const getRoute = createRoute({
  ...shared,
  method: 'get',
  path: `${PATH}/{id}`,
  operationId: 'getJobAction',
  summary: 'Get an action on jobs with its progress',
  middleware: requires('read'),
  request: { params: IdParams },
  responses: { 200: shown('The action.'), ...problemsWithKey('not-found') },
});

const cancelRoute = createRoute({
  ...shared,
  method: 'post',
  path: `${PATH}/{id}/cancel`,
  operationId: 'cancelJobAction',
  summary: 'Cancel an action on jobs',
  description: 'What it has done stays done. Takes no body.',
  middleware: requires('cancel', 'submit'),
  request: { params: IdParams },
  responses: { 200: shown('It ends soon, or had ended.'), ...problemsWithKey('not-found', 'too-large') },
});

export function jobActionRoutes(app: Api, parts: ApiParts): void {
  const { jobActions, quotas } = parts;
  app.on('POST', PATH, requires('cancel', 'submit'), guardQuota(quotas));
  app.openapi(createActionRoute, async (c) => {
    const { caller } = c.var;
    const request = c.req.valid('json');
    const tenant = checkAction(caller, request);
    if (request.dry_run) return c.json(await countJobs(parts, tenant, request.filter), 200);
    return c.json(await createAction(parts, caller, actorOf(c).address, tenant, request), 202);
  });
  const find = (c: Parameters<typeof actorOf>[0], id: string) => jobActions.find(c.get('caller').tenant, id);
  app.openapi(listRoute, async (c) => {
    const found = await jobActions.list(c.var.caller.tenant);
    return c.json({ data: found.map(presentAction) }, 200);
  });
  app.openapi(getRoute, async (c) => c.json(presentAction(await find(c, c.req.valid('param').id)), 200));
  app.openapi(cancelRoute, async (c) => {
    const { id } = await find(c, c.req.valid('param').id);
    await jobActions.cancel(id);
    return c.json(presentAction(await find(c, id)), 200);
  });
}

/** Schedules: jobs that are made again and again. */
import { createRoute, z } from '@hono/zod-openapi';
import {
  LehrError,
  ScheduleChangeSchema,
  ScheduleListSchema,
  ScheduleRequestSchema,
  ScheduleSchema,
} from '@lehr/shared';
import { guardQuota, requires } from '../http/middleware/auth.ts';
import { BEARER, problemsWithKey } from '../http/responses.ts';
import type { Api, ApiParts } from '../parts.ts';
import { changeSchedule, createSchedule, presentSchedule } from '../schedules/change-schedule.ts';
import { SCHEDULE, SCHEDULE_CHANGE, SCHEDULE_REQUEST } from './examples.ts';

const PATH = '/v1/schedules';
const IdParams = z.object({
  id: z.string().meta({ description: 'The id of the schedule.', example: SCHEDULE.id }),
});
const shared = { tags: ['schedules'], security: BEARER };
const shown = (description: string) => ({
  description,
  content: { 'application/json': { schema: ScheduleSchema, example: SCHEDULE } },
});
const BODY_PROBLEMS = ['invalid-request', 'too-large', 'unsupported-media', 'invalid-input'] as const;

const createScheduleRoute = createRoute({
  ...shared,
  method: 'post',
  path: PATH,
  operationId: 'createSchedule',
  summary: 'Create a schedule',
  description:
    'Its jobs are made with this key, with the rights and limits that the key has at the time of each run.',
  middleware: requires('submit'),
  request: {
    body: {
      required: true,
      content: { 'application/json': { schema: ScheduleRequestSchema, example: SCHEDULE_REQUEST } },
    },
  },
  responses: { 201: shown('The schedule.'), ...problemsWithKey(...BODY_PROBLEMS, 'rate-limited') },
});

const listRoute = createRoute({
  ...shared,
  method: 'get',
  path: PATH,
  operationId: 'listSchedules',
  summary: 'List your schedules, newest first',
  middleware: requires('read'),
  responses: {
    200: {
      description: 'All of them.',
      content: { 'application/json': { schema: ScheduleListSchema, example: { data: [SCHEDULE] } } },
    },
    ...problemsWithKey(),
  },
});

const getRoute = createRoute({
  ...shared,
  method: 'get',
  path: `${PATH}/{id}`,
  operationId: 'getSchedule',
  summary: 'Get a schedule with its next and its last runs',
  middleware: requires('read'),
  request: { params: IdParams },
  responses: { 200: shown('The schedule.'), ...problemsWithKey('not-found') },
});

const changeRoute = createRoute({
  ...shared,
  method: 'patch',
  path: `${PATH}/{id}`,
  operationId: 'changeSchedule',
  summary: 'Change, pause or resume a schedule',
  description: 'What the body leaves out stays. From then on its jobs are made with the key of this request.',
  middleware: requires('submit'),
  request: {
    params: IdParams,
    body: {
      required: true,
      content: { 'application/json': { schema: ScheduleChangeSchema, example: SCHEDULE_CHANGE } },
    },
  },
  responses: { 200: shown('The schedule.'), ...problemsWithKey('not-found', ...BODY_PROBLEMS) },
});

const deleteRoute = createRoute({
  ...shared,
  method: 'delete',
  path: `${PATH}/{id}`,
  operationId: 'deleteSchedule',
  summary: 'Delete a schedule',
  description: 'Its jobs stay.',
  middleware: requires('submit'),
  request: { params: IdParams },
  responses: { 204: { description: 'It makes no more jobs.' }, ...problemsWithKey('not-found', 'too-large') },
});

export function scheduleRoutes(app: Api, parts: ApiParts): void {
  const { schedules, quotas } = parts;
  app.on('POST', PATH, guardQuota(quotas));
  app.openapi(createScheduleRoute, async (c) =>
    c.json(await createSchedule(parts, c.var.caller, c.req.valid('json')), 201),
  );
  app.openapi(listRoute, async (c) => {
    const found = await schedules.list(c.var.caller.tenant);
    return c.json({ data: await Promise.all(found.map((each) => presentSchedule(parts, each))) }, 200);
  });
  app.openapi(getRoute, async (c) => {
    const found = await schedules.find(c.var.caller.tenant, c.req.valid('param').id);
    return c.json(await presentSchedule(parts, found), 200);
  });
  app.openapi(changeRoute, async (c) => {
    const { id } = c.req.valid('param');
    const change = c.req.valid('json');
    // It goes on after the session has ended.
    if (c.get('isSession') && Object.keys(change).some((name) => name !== 'paused'))
      throw new LehrError(
        'forbidden',
        'A session of the studio pauses schedules and lets them go on. Use your key for more.',
      );
    return c.json(await changeSchedule(parts, c.var.caller, id, change), 200);
  });
  app.openapi(deleteRoute, async (c) => {
    await schedules.delete(await schedules.find(c.var.caller.tenant, c.req.valid('param').id));
    return c.body(null, 204);
  });
}

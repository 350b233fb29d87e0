/** Rollouts of new model versions; require the scope `admin`. */
import { randomBytes } from 'node:crypto';
import { createRoute, type z } from '@hono/zod-openapi';
import {
  formatModelRef,
  type Rollout,
  RolloutChangeSchema,
  type RolloutEvent,
  RolloutListSchema,
  RolloutParamsSchema,
  RolloutRequestSchema,
  RolloutSchema,
  readFleet,
} from '@lehr/shared';
import { fleetIndex } from '../fleet/fleet-index.ts';
import { actorOf, requires } from '../http/middleware/auth.ts';
import { BEARER, problemsWithKey } from '../http/responses.ts';
import type { Api, ApiParts } from '../parts.ts';
import { changeStep, deployStep, noRollout, removeStep } from '../rollouts/change.ts';
import { presentRollout } from '../rollouts/present.ts';
import type { StoredRollout } from '../rollouts/rollout.ts';

const DEPLOYED: RolloutEvent = {
  at: '2026-11-23T09:00:00.000Z',
  action: 'deployed',
  by: 'root',
  reason: 'sharper hands',
  rollout: 'ro_9f2c41d07ab3',
  stable: '1',
  canary: '2',
  weight: 10,
  state: 'running',
};

export const ROLLOUT: Rollout = {
  object: 'rollout',
  id: 'ro_9f2c41d07ab3',
  model: 'sd',
  state: 'running',
  stable: '1',
  canary: '2',
  weight: 10,
  sticky_by: 'key',
  created_at: DEPLOYED.at,
  changed_at: DEPLOYED.at,
  changed_by: 'root',
  reason: 'sharper hands',
  workers: { stable: 4, canary: 1 },
  outcomes: {
    stable: { jobs: 912, failed: 3, failures: { 'engine-failed': 3 }, p95: 1.15 },
    canary: { jobs: 104, failed: 1, failures: { 'engine-failed': 1 }, p95: 1.05 },
  },
  analysis: {
    auto_rollback: true,
    promote_after: 500,
    steps: [10, 50],
    limit: 400,
    evidence: { failures: 0.4, slowness: 0.1 },
    stable: { jobs: 912, failed: 3 },
    canary: { jobs: 104, failed: 1 },
    pairs: { slower: 6, faster: 94 },
  },
  history: [DEPLOYED],
};

const shared = { tags: ['rollouts'], security: BEARER, middleware: requires('admin') };
const shown = {
  description: 'The rollout.',
  content: { 'application/json': { schema: RolloutSchema, example: ROLLOUT } },
};
const body = <Schema extends z.ZodType>(schema: Schema, example: object) => ({
  required: true,
  content: { 'application/json': { schema, example } },
});
const BODY_PROBLEMS = [
  'invalid-request',
  'too-large',
  'unsupported-media',
  'invalid-input',
  'conflict',
] as const;

const listRoute = createRoute({
  ...shared,
  method: 'get',
  path: '/v1/rollouts',
  operationId: 'listRollouts',
  summary: 'List the rollouts',
  description: 'The latest rollout of each model that has one, by the name of the model.',
  responses: {
    200: {
      description: 'All rollouts.',
      content: {
        'application/json': { schema: RolloutListSchema, example: { object: 'list', data: [ROLLOUT] } },
      },
    },
    ...problemsWithKey(),
  },
});

const getRoute = createRoute({
  ...shared,
  method: 'get',
  path: '/v1/rollouts/{model}',
  operationId: 'getRollout',
  summary: 'Get the rollout of a model',
  request: { params: RolloutParamsSchema },
  responses: { 200: shown, ...problemsWithKey('not-found', 'invalid-request') },
});

const deployRoute = createRoute({
  ...shared,
  method: 'put',
  path: '/v1/rollouts/{model}',
  operationId: 'deployVersion',
  summary: 'Try a version of a model',
  description:
    'Starts a rollout, or changes the weights of the one that is under way. Jobs that name a version are not affected, and a job that ' +
    'was accepted keeps its version. Takes effect on every API process within two seconds.',
  request: {
    params: RolloutParamsSchema,
    body: body(RolloutRequestSchema, { version: '2', weight: 10, reason: 'sharper hands' }),
  },
  responses: { 200: shown, ...problemsWithKey('model-not-found', ...BODY_PROBLEMS) },
});

const changeRoute = createRoute({
  ...shared,
  method: 'patch',
  path: '/v1/rollouts/{model}',
  operationId: 'changeRollout',
  summary: 'Promote, roll back, pause or resume',
  description: 'Takes effect on every API process within two seconds.',
  request: { params: RolloutParamsSchema, body: body(RolloutChangeSchema, { state: 'promoted' }) },
  responses: { 200: shown, ...problemsWithKey('not-found', ...BODY_PROBLEMS) },
});

const removeRoute = createRoute({
  ...shared,
  method: 'delete',
  path: '/v1/rollouts/{model}',
  operationId: 'removeRollout',
  summary: 'Forget the rollout of a model',
  description:
    'From then on the weights in models.yaml decide which version a job gets. The history is kept.',
  request: { params: RolloutParamsSchema },
  responses: {
    204: { description: 'There is no rollout of this model any more.' },
    ...problemsWithKey('not-found', 'invalid-request', 'too-large', 'conflict'),
  },
});

export function rolloutRoutes(app: Api, parts: ApiParts): void {
  const { rollouts, registry, redis, keys, clock } = parts;
  const newId = (): string => `ro_${randomBytes(6).toString('hex')}`;
  const answerOf = async (model: string, rollout: StoredRollout | undefined) => {
    if (!rollout) throw noRollout(model);
    return presentRollout(rollouts, await readFleet(redis, keys), rollout);
  };
  const contextOf = async (model: string, by: string | null) => {
    const fleet = await readFleet(redis, keys);
    const workersOf = (version: string): number =>
      fleetIndex(fleet).available(formatModelRef({ name: model, version }));
    return { registry, model, workersOf, newId, now: clock.now(), by };
  };

  app.openapi(listRoute, async (c) => {
    const [all, fleet] = await Promise.all([rollouts.list(), readFleet(redis, keys)]);
    const sorted = [...all.values()].sort((a, b) => (a.model < b.model ? -1 : 1));
    const data = await Promise.all(sorted.map((each) => presentRollout(rollouts, fleet, each)));
    c.header('cache-control', 'private, no-cache');
    return c.json({ object: 'list' as const, data }, 200);
  });

  app.openapi(getRoute, async (c) => {
    const { model } = c.req.valid('param');
    c.header('cache-control', 'private, no-cache');
    return c.json(await answerOf(model, (await rollouts.list()).get(model)), 200);
  });

  app.openapi(deployRoute, async (c) => {
    const { model } = c.req.valid('param');
    const actor = actorOf(c);
    const context = await contextOf(model, actor.keyId);
    const request = c.req.valid('json');
    const changed = await rollouts.change(model, actor, (current, analysis) =>
      deployStep(context, request, current, analysis),
    );
    return c.json(await answerOf(model, changed), 200);
  });

  app.openapi(changeRoute, async (c) => {
    const { model } = c.req.valid('param');
    const actor = actorOf(c);
    const context = await contextOf(model, actor.keyId);
    const change = c.req.valid('json');
    const changed = await rollouts.change(model, actor, (current, analysis) =>
      changeStep(context, change, current, analysis),
    );
    return c.json(await answerOf(model, changed), 200);
  });

  app.openapi(removeRoute, async (c) => {
    const { model } = c.req.valid('param');
    await rollouts.change(model, actorOf(c), (current) => removeStep(model, current));
    return c.body(null, 204);
  });
}

/** Predictions by model and by version, over jobs: held on `Prefer: wait`, else answered at once. */
import { createRoute, z } from '@hono/zod-openapi';
import { END_EVENTS } from '@lehr/shared';
import type { Context } from 'hono';
import type { Api, ApiParts } from '../../api.ts';
import { IDEMPOTENCY_HEADER, preferredWaitS } from '../../calls/call-headers.ts';
import { hold } from '../../calls/hold.ts';
import { makeJob } from '../../calls/make-job.ts';
import { nativeRequest } from '../../calls/names.ts';
import { isOver } from '../../jobs/present.ts';
import type { ApiEnv } from '../../middleware/api-env.ts';
import { requires } from '../../middleware/auth.ts';
import { countRefusals } from '../../middleware/count-refusals.ts';
import { guardQuota } from '../../middleware/guard-quota.ts';
import { answerJson } from '../../middleware/own-headers.ts';
import { BEARER, problemsWithKey } from '../../responses.ts';
import type { Hook } from '../../webhooks/hook.ts';
import { cancelAfterS } from './cancel-after.ts';
import {
  type PredictionRequest,
  PredictionRequestSchema,
  PredictionSchema,
  VersionedRequestSchema,
  type WebhookFilter,
} from './prediction-contract.ts';
import { NAMES, nativeInput } from './prediction-input.ts';
import { PredictionsView } from './predictions-view.ts';
import { type WantedModel, wantedByPath, wantedByVersion } from './wanted-model.ts';

const BY_MODEL = '/v1/models/{owner}/{name}/predictions';
const BY_VERSION = '/v1/predictions';

/** Clients wait without end, so every prediction has one. */
const DEADLINE_S = 3600;
/** A client that loses its connection sends its request six times over; as many are made of it at most. */
const MAX_TWINS = 4;

const HEADERS = z.object({
  ...IDEMPOTENCY_HEADER,
  prefer: z.string().optional().meta({ description: '`wait=N` or `wait` (60 s): held until it is over.' }),
  'cancel-after': z.string().optional().meta({
    description: 'How long it may take before it is canceled, such as `90s` or `1h30m`. Absent: an hour.',
  }),
});
type Headers = z.output<typeof HEADERS>;

const answer = (description: string) => ({
  description,
  content: { 'application/json': { schema: PredictionSchema } },
});

const shared = {
  method: 'post' as const,
  tags: ['replicate'],
  description:
    'A job under its Replicate name. It goes on when you hang up. The answer says `starting` while it is not over, also when ' +
    'it runs already: that is how the published clients know to go on asking.',
  security: BEARER,
  responses: {
    201: answer('It is over.'),
    202: answer('It is not; ask again at `urls.get`.'),
    ...problemsWithKey(
      'invalid-request',
      'model-not-found',
      'too-large',
      'unsupported-media',
      'gone',
      'invalid-input',
      'idempotency-mismatch',
      'rate-limited',
      'overloaded',
    ),
  },
};

const byModelRoute = createRoute({
  ...shared,
  path: BY_MODEL,
  operationId: 'createPredictionByModel',
  summary: 'Have a model make a prediction',
  request: {
    params: z.object({
      owner: z.string().meta({ example: 'lehr' }),
      name: z.string().meta({ example: 'tiny-diffusion' }),
    }),
    headers: HEADERS,
    body: { required: true, content: { 'application/json': { schema: PredictionRequestSchema } } },
  },
});

const byVersionRoute = createRoute({
  ...shared,
  path: BY_VERSION,
  operationId: 'createPrediction',
  summary: 'Have a version of a model make a prediction',
  request: {
    headers: HEADERS,
    body: { required: true, content: { 'application/json': { schema: VersionedRequestSchema } } },
  },
});

interface Asked {
  readonly route: string;
  readonly wanted: WantedModel;
  readonly body: PredictionRequest;
  readonly headers: Headers;
}

export function createPredictionRoutes(app: Api, parts: ApiParts): void {
  const { registry, metrics, quotas } = parts;
  const view = new PredictionsView(parts);
  for (const path of [BY_MODEL.replace(/\{(\w+)\}/g, ':$1'), BY_VERSION]) {
    app.on('POST', path, countRefusals(metrics), requires('submit'), guardQuota(quotas));
  }

  app.openapi(byModelRoute, (c) => {
    const { owner, name } = c.req.valid('param');
    const wanted = wantedByPath(registry, owner, name);
    const asked = { body: c.req.valid('json'), headers: c.req.valid('header') };
    return answerPrediction(c, parts, view, {
      route: `POST /v1/models/${owner}/${name}/predictions`,
      wanted,
      ...asked,
    });
  });

  app.openapi(byVersionRoute, (c) => {
    const body = c.req.valid('json');
    const wanted = wantedByVersion(registry, body.version);
    const headers = c.req.valid('header');
    return answerPrediction(c, parts, view, { route: `POST ${BY_VERSION}`, wanted, body, headers });
  });
}

async function answerPrediction(
  c: Context<ApiEnv>,
  parts: ApiParts,
  view: PredictionsView,
  { route, wanted: { type, model }, body, headers }: Asked,
) {
  const after = headers['cancel-after'];
  const deadline_s = after === undefined ? DEADLINE_S : cancelAfterS(after);
  // Each type checks its own input.
  const fields = { type, model, input: nativeInput(body.input, type), deadline_s } as never;
  const waitS = preferredWaitS(headers.prefer);
  const made = await makeJob(c, parts, {
    route,
    body,
    request: nativeRequest(fields, NAMES),
    names: NAMES,
    idempotencyKey: headers['idempotency-key'],
    hook: hookOf(body),
    maxHeld: MAX_TWINS,
    cancelIfAbandoned: false,
  });
  const record = waitS === undefined ? made.record : await hold(c, parts, made, waitS * 1000);
  // Whatever its state: this client goes on with what it is told.
  if (waitS !== undefined && !c.req.raw.signal.aborted) await made.markAnswered();
  return answerJson(c, await view.created(record), isOver(record) ? 201 : 202, {
    ...made.headers,
    ...(waitS !== undefined && { 'preference-applied': `wait=${waitS}` }),
  });
}

/** Without `completed`, the end is told to those who want outputs, when there is one. */
const EVENTS: Readonly<Record<WebhookFilter, readonly string[]>> = {
  start: ['job.started'],
  output: ['job.succeeded'],
  logs: ['job.progress'],
  completed: END_EVENTS,
};

function hookOf({
  webhook,
  webhook_events_filter: filter = ['output', 'completed'],
}: PredictionRequest): Hook | undefined {
  if (webhook === undefined) return undefined;
  const events = filter.flatMap((each) => EVENTS[each]);
  return { url: webhook, events, dialect: 'replicate', pointer: '/webhook' };
}

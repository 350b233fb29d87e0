/** Creates predictions, by model and by version. The request is held on `Prefer: wait`, and else answered at once. */
import { createRoute, z } from '@hono/zod-openapi';
import { END_EVENTS } from '@lehr/shared';
import type { Context } from 'hono';
import { refusal } from '../../base/field-problems.ts';
import type { ApiEnv } from '../../http/middleware/api-env.ts';
import { guardQuota, requires } from '../../http/middleware/auth.ts';
import { countRefusals } from '../../http/middleware/observe.ts';
import { answerJson } from '../../http/middleware/own-headers.ts';
import { BEARER, problemsWithKey } from '../../http/responses.ts';
import { isOver } from '../../jobs/present.ts';
import { IDEMPOTENCY_HEADER, preferredWaitS } from '../../jobs/requests/call-headers.ts';
import { nativeRequest } from '../../jobs/requests/field-names.ts';
import { hold } from '../../jobs/requests/hold.ts';
import { makeJob } from '../../jobs/requests/make-job.ts';
import type { Api, ApiParts } from '../../parts.ts';
import type { Hook } from '../../webhooks/hook.ts';
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

/** Clients wait without a limit, so every prediction has a deadline. */
const DEADLINE_S = 3600;
/** A client that loses its connection retries up to six times. Its retries are answered by at most this many jobs. */
const MAX_HELD = 4;

const HEADERS = z.object({
  ...IDEMPOTENCY_HEADER,
  prefer: z
    .string()
    .optional()
    .meta({ description: '`wait=N` or `wait` (60 s) holds the request until the prediction is over.' }),
  'cancel-after': z.string().optional().meta({
    // As cancelAfterS reads it.
    pattern: '^(?=[0-9])([0-9]{1,4}h)?([0-9]{1,6}m)?([0-9]{1,8}s)?$',
    example: '90s',
    description:
      'How long the prediction may take before it is canceled, such as `90s` or `1h30m`. Absent: an hour.',
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
    'Makes a job in the form of a Replicate prediction; it continues when you hang up. The answer has the status `starting` ' +
    'until the prediction is over, even while it runs: the published clients stop polling at any other status.',
  security: BEARER,
  responses: {
    201: answer('The prediction is over.'),
    202: answer('The prediction is not over yet; poll `urls.get`.'),
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
  summary: 'Create a prediction by model',
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
  summary: 'Create a prediction by version',
  request: {
    headers: HEADERS,
    body: { required: true, content: { 'application/json': { schema: VersionedRequestSchema } } },
  },
});

interface PredictionCall {
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
    const sent = { body: c.req.valid('json'), headers: c.req.valid('header') };
    return answerPrediction(c, parts, view, {
      route: `POST /v1/models/${owner}/${name}/predictions`,
      wanted,
      ...sent,
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
  { route, wanted: { type, model }, body, headers }: PredictionCall,
) {
  const cancelAfter = headers['cancel-after'];
  const deadline_s = cancelAfter === undefined ? DEADLINE_S : cancelAfterS(cancelAfter);
  // The schema of each type checks the input.
  const fields = { type, model, input: nativeInput(body.input, type), deadline_s } as never;
  const waitS = preferredWaitS(headers.prefer);
  const made = await makeJob(c, parts, {
    route,
    body,
    request: nativeRequest(fields, NAMES),
    names: NAMES,
    idempotencyKey: headers['idempotency-key'],
    hook: hookOf(body),
    maxHeld: MAX_HELD,
    isHeld: waitS !== undefined,
    cancelIfAbandoned: false,
  });
  const record = waitS === undefined ? made.record : await hold(c, parts, made, waitS * 1000);
  // In any state: the client has an id and polls from here on.
  if (waitS !== undefined && !c.req.raw.signal.aborted) await made.markAnswered();
  return answerJson(c, await view.created(record), isOver(record) ? 201 : 202, {
    ...made.headers,
    ...(waitS !== undefined && { 'preference-applied': `wait=${waitS}` }),
  });
}

/** Replicate's filters in native events. `output` without `completed` is sent only when the job succeeds. */
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

const MIN_S = 5;
const MAX_S = 7 * 24 * 3600;
const DURATION = /^(?=\d)(?:(\d{1,4})h)?(?:(\d{1,6})m)?(?:(\d{1,8})s)?$/;

/** Parses `Cancel-After: 90s`, `5m` or `1h30m` into seconds, at most a week. Throws `invalid-request`. */
export function cancelAfterS(header: string): number {
  const [, ...parts] = DURATION.exec(header.trim()) ?? [];
  const [hours = 0, minutes = 0, seconds = 0] = parts.map((part) => Number(part ?? 0));
  const wanted = hours * 3600 + minutes * 60 + seconds;
  if (wanted >= MIN_S) return Math.min(wanted, MAX_S);
  const detail = `must be a time of at least ${MIN_S} s, such as 90s, 5m or 1h30m`;
  throw refusal('invalid-request', [{ pointer: '?cancel-after', detail }]);
}

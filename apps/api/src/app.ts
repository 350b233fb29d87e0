/** The HTTP app with all its routes. Creating it does no I/O, so tests can call `app.request()`. */
import { OpenAPIHono } from '@hono/zod-openapi';
import { methodNotAllowed } from 'hono/method-not-allowed';
import { webUiRoutes } from './dialects/a1111/routes.ts';
import { answerErrors, answerMethodNotAllowed, answerNotFound } from './dialects/answer-errors.ts';
import { classicRoutes } from './dialects/classic/draw.ts';
import { graphRoute } from './dialects/classic/graph.ts';
import { huggingFaceRoutes } from './dialects/huggingface/calls.ts';
import { modelListRoute, modelRoute } from './dialects/models.ts';
import { audioRoutes } from './dialects/openai/audio.ts';
import { embeddingRoutes } from './dialects/openai/embeddings.ts';
import { imageEditRoutes } from './dialects/openai/image-edits.ts';
import { imageRoutes } from './dialects/openai/images.ts';
import { createPredictionRoutes } from './dialects/replicate/create.ts';
import { replicateModelRoutes } from './dialects/replicate/models.ts';
import { predictionRoutes } from './dialects/replicate/predictions.ts';
import { predictionStreamRoute } from './dialects/replicate/stream.ts';
import { webhookSecretRoute } from './dialects/replicate/webhook-secret.ts';
import { refuseLate } from './http/fair-admission.ts';
import type { ApiEnv } from './http/middleware/api-env.ts';
import { authenticate } from './http/middleware/auth.ts';
import { findCallerAddress } from './http/middleware/caller-address.ts';
import { observe, traceRequests } from './http/middleware/observe.ts';
import { ownHeaders } from './http/middleware/own-headers.ts';
import { readBody } from './http/middleware/read-body.ts';
import { refuseInvalid } from './http/middleware/validation.ts';
import type { Api, ApiParts } from './parts.ts';
import { mountBoard } from './routes/admin/board.ts';
import { auditRoute } from './routes/audit.ts';
import { batchEventsRoute } from './routes/batch-events.ts';
import { batchLinesRoute } from './routes/batch-lines.ts';
import { batchRoutes } from './routes/batches.ts';
import { docsRoutes } from './routes/docs.ts';
import { fileRoutes } from './routes/files.ts';
import { healthRoute, readyRoute } from './routes/health.ts';
import { jobActionRoutes } from './routes/jobs/actions.ts';
import { createJobRoute } from './routes/jobs/create.ts';
import { endJobRoutes } from './routes/jobs/end.ts';
import { jobEventsRoutes } from './routes/jobs/events.ts';
import { getJobRoute } from './routes/jobs/get.ts';
import { listJobsRoute } from './routes/jobs/list.ts';
import { retryJobRoute } from './routes/jobs/retry.ts';
import { jobWebhookRoutes } from './routes/jobs/webhook.ts';
import { keyRoutes } from './routes/keys.ts';
import { mcpRoute } from './routes/mcp.ts';
import { metricsRoute } from './routes/metrics.ts';
import { objectsRoute } from './routes/objects.ts';
import { chartsRoute, operationsApiRoutes } from './routes/operations.ts';
import { pauseRoutes } from './routes/pauses.ts';
import { activityRoute, queuesRoute, scaleRoute } from './routes/queues.ts';
import { rolloutRoutes } from './routes/rollouts.ts';
import { scheduleRoutes } from './routes/schedules.ts';
import { securityTxtRoute } from './routes/security-txt.ts';
import { studioRoutes } from './routes/studio.ts';
import { studioSessionRoutes } from './routes/studio-session.ts';
import { usageRoute } from './routes/usage.ts';
import { webhookRoutes } from './routes/webhooks.ts';

const mayCarryAudio = (path: string): boolean => path === '/v1/jobs' || path.endsWith('/predictions');
/** These routes take uploads, which files/multipart.ts counts while it reads them. */
const readsItsBody = (path: string): boolean =>
  path === '/v1/files' || /^\/v1\/(?:audio\/|images\/(?:edits|variations)$)/.test(path);

/** `hasOperationsApp`: metrics, readiness and the board have their own listener and are not served here. */
export function createApp(parts: ApiParts, hasOperationsApp = false): Api {
  const app = createBase(parts);
  for (const path of ['/v1/*', '/mcp']) {
    app.use(path, authenticate(parts));
    app.use(path, readBody({ ...parts, mayBeLarge: mayCarryAudio, isSkipped: readsItsBody }));
  }

  createJobRoute(app, parts);
  listJobsRoute(app, parts);
  getJobRoute(app, parts);
  endJobRoutes(app, parts);
  retryJobRoute(app, parts);
  jobEventsRoutes(app, parts);
  jobWebhookRoutes(app, parts);
  jobActionRoutes(app, parts);
  batchRoutes(app, parts);
  batchEventsRoute(app, parts);
  batchLinesRoute(app, parts);
  scheduleRoutes(app, parts);
  modelRoute(app, parts);
  fileRoutes(app, parts);
  dialectRoutes(app, parts);
  queuesRoute(app, parts);
  activityRoute(app, parts);
  scaleRoute(app, parts);
  chartsRoute(app, parts);
  rolloutRoutes(app, parts);
  pauseRoutes(app, parts);
  keyRoutes(app, parts);
  auditRoute(app, parts);
  operationsApiRoutes(app, parts);
  usageRoute(app, parts);
  webhookRoutes(app, parts);
  mcpRoute(app, parts);
  objectsRoute(app, parts);
  healthRoute(app);
  if (!hasOperationsApp) operationsRoutes(app, parts);
  docsRoutes(app, parts);
  securityTxtRoute(app, parts);
  studioSessionRoutes(app, parts);
  studioRoutes(app, parts);
  if (!hasOperationsApp) mountBoard(app, parts);
  return app;
}

/** For clients of other APIs; they make the same jobs as the native routes. */
function dialectRoutes(app: Api, parts: ApiParts): void {
  imageRoutes(app, parts);
  imageEditRoutes(app, parts);
  audioRoutes(app, parts);
  embeddingRoutes(app, parts);
  createPredictionRoutes(app, parts);
  predictionRoutes(app, parts);
  predictionStreamRoute(app, parts);
  replicateModelRoutes(app, parts);
  modelListRoute(app, parts);
  webhookSecretRoute(app, parts);
  classicRoutes(app, parts);
  graphRoute(app, parts);
  huggingFaceRoutes(app, parts);
  webUiRoutes(app, parts);
}

/** For a process without the role `http`. */
export function createHealthApp(parts: ApiParts, hasOperationsApp: boolean): Api {
  const app = createBase(parts);
  healthRoute(app);
  if (!hasOperationsApp) operationsRoutes(app, parts);
  return app;
}

/** For the listener of operations. */
export function createOperationsApp(parts: ApiParts): Api {
  const app = createBase(parts);
  healthRoute(app);
  operationsRoutes(app, parts);
  mountBoard(app, parts);
  return app;
}

function operationsRoutes(app: Api, parts: ApiParts): void {
  readyRoute(app, parts);
  metricsRoute(app, parts);
}

function createBase(parts: ApiParts): Api {
  const app: Api = new OpenAPIHono<ApiEnv>({ defaultHook: refuseInvalid });
  app.onError(answerErrors(parts.log));
  app.notFound(answerNotFound);

  app.use(ownHeaders());
  app.use(findCallerAddress(parts.trustedProxies));
  app.use(observe(parts.metrics, parts.log));
  if (parts.tracing) app.use(traceRequests(parts.tracing));
  app.use(refuseLate());
  app.use(methodNotAllowed({ app, onMethodNotAllowed: answerMethodNotAllowed }));
  return app;
}

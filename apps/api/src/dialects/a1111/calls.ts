/** POST /sdapi/v1/txt2img and /sdapi/v1/img2img: make a text-to-image job and hold the call until its pictures are finished. */
import { createRoute, z } from '@hono/zod-openapi';
import type { JobRequest } from '@lehr/shared';
import type { Context } from 'hono';
import type { ApiEnv } from '../../http/middleware/api-env.ts';
import { guardQuota, requires } from '../../http/middleware/auth.ts';
import { countRefusals } from '../../http/middleware/observe.ts';
import { answerJson } from '../../http/middleware/own-headers.ts';
import { BEARER_OR_BASIC } from '../../http/responses.ts';
import { IDEMPOTENCY_HEADER } from '../../jobs/requests/call-headers.ts';
import { holdUntilDone, JobEndedError, type SucceededRecord } from '../../jobs/requests/hold.ts';
import { type JobCall, makeJob } from '../../jobs/requests/make-job.ts';
import type { Api, ApiParts } from '../../parts.ts';
import { callErrors } from './errors.ts';
import { forgetCalls, noteCall } from './open-calls.ts';
import { chosenModel } from './options.ts';
import { picturesOf } from './picture-answer.ts';
import { DrawSchema, type Edit, EditSchema, PicturesSchema } from './picture-contract.ts';
import { pictureRequest } from './picture-request.ts';

const DESCRIPTION =
  'For clients of the Stable Diffusion web UI. Makes a text-to-image job and holds the call until the pictures are finished. When the hold ' +
  'ends first, the answer is 504 and the job continues; the same call again waits for the same job. Fields that are not listed have no effect.';

const shared = { method: 'post' as const, tags: ['a1111'], security: BEARER_OR_BASIC };
const headers = z.object(IDEMPOTENCY_HEADER);
const responses = {
  200: { description: 'The pictures.', content: { 'application/json': { schema: PicturesSchema } } },
  ...callErrors(),
};

const drawRoute = createRoute({
  ...shared,
  path: '/sdapi/v1/txt2img',
  operationId: 'webUiTxt2Img',
  summary: 'Draw pictures, for clients of the web UI',
  description: DESCRIPTION,
  request: {
    headers,
    body: {
      required: true,
      content: {
        'application/json': {
          schema: DrawSchema,
          example: {
            prompt: 'a red circle',
            steps: 8,
            cfg_scale: 4,
            sampler_name: 'Euler',
            width: 64,
            height: 64,
          },
        },
      },
    },
  },
  responses,
});

const editRoute = createRoute({
  ...shared,
  path: '/sdapi/v1/img2img',
  operationId: 'webUiImg2Img',
  summary: 'Draw pictures that begin at a picture, for clients of the web UI',
  description: `${DESCRIPTION} Needs a model with a VAE encoder.`,
  request: { headers, body: { required: true, content: { 'application/json': { schema: EditSchema } } } },
  responses,
});

export function webUiCallRoutes(app: Api, parts: ApiParts): void {
  for (const { path } of [drawRoute, editRoute]) {
    app.on('POST', path, countRefusals(parts.metrics), requires('submit'), guardQuota(parts.quotas));
  }
  app.openapi(drawRoute, (c) => answerCall(c, parts, drawRoute.path, c.req.valid('json')));
  app.openapi(editRoute, (c) => answerCall(c, parts, editRoute.path, c.req.valid('json')));
}

async function answerCall(
  c: Context<ApiEnv>,
  parts: ApiParts,
  path: typeof drawRoute.path | typeof editRoute.path,
  body: Edit,
) {
  const { keyId } = c.var.caller;
  const begin = path === editRoute.path ? 'picture' : 'noise';
  const checkpoint = body.override_settings?.sd_model_checkpoint || (await chosenModel(parts, keyId));
  const { record, headers: own } = await heldCall(c, parts, {
    path,
    // The same call with another chosen model is another call.
    body: { ...body, checkpoint },
    ...pictureRequest(parts.registry, body, { begin, checkpoint, inline: c.var.inlineAudio ?? [] }),
  });
  return answerJson(c, await picturesOf(parts.store, record, body), 200, own);
}

interface Call extends Pick<JobCall, 'body' | 'names'> {
  readonly path: string;
  readonly request: JobRequest;
}

/** Makes the job of a call and holds it until the job has succeeded. Progress and interrupt find it meanwhile. */
export async function heldCall(
  c: Context<ApiEnv>,
  parts: ApiParts,
  { path, ...call }: Call,
): Promise<{ readonly record: SucceededRecord; readonly headers: Readonly<Record<string, string>> }> {
  const { keyId } = c.var.caller;
  const made = await makeJob(c, parts, {
    ...call,
    route: `POST ${path}`,
    idempotencyKey: c.req.header('idempotency-key'),
    isHeld: true,
    cancelIfAbandoned: true,
  });
  const { id } = made.record;
  await noteCall(parts, keyId, id);
  try {
    const record = await holdUntilDone(c, parts, made, parts.holdMs);
    await forgetCalls(parts, keyId, id);
    return { record, headers: made.headers };
  } catch (error) {
    // A job that continues can still be interrupted.
    const hasEnded = error instanceof JobEndedError && !['late', 'stopping'].includes(error.end);
    if (hasEnded) await forgetCalls(parts, keyId, id);
    throw error;
  }
}

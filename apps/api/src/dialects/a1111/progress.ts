/** Progress and interruption of the web UI: both are about the oldest unfinished call of the key, as the web UI draws one call after the other. */
import { createRoute, z } from '@hono/zod-openapi';
import { followJob, readPreview } from '@lehr/shared';
import type { JobOutline } from '@lehr/shared/records';
import { requires } from '../../http/middleware/auth.ts';
import { answerJson } from '../../http/middleware/own-headers.ts';
import { BEARER_OR_BASIC } from '../../http/responses.ts';
import { cancelJob } from '../../jobs/cancel.ts';
import type { Api, ApiParts } from '../../parts.ts';
import { plainErrors } from './errors.ts';
import { timestampOf } from './infotext.ts';
import { type OpenCalls, openCalls } from './open-calls.ts';

const StateSchema = z.object({
  job: z.string().meta({ description: 'The id of the job of the call; empty when there is none.' }),
  job_count: z.int().meta({ description: 'Unfinished calls of the key; 0 when there is none.' }),
  job_no: z.int(),
  job_timestamp: z.string(),
  sampling_step: z.int(),
  sampling_steps: z.int(),
  skipped: z.boolean(),
  interrupted: z.boolean(),
  stopping_generation: z.boolean(),
});

const ProgressSchema = z
  .object({
    progress: z.number().meta({ description: 'From 0 to 1.' }),
    eta_relative: z.number().meta({
      description: 'Seconds until the end, estimated from the time so far; 0 when nothing is known.',
    }),
    state: StateSchema,
    current_image: z.string().nullable().meta({
      description:
        'The newest preview in base64, at most 64 pixels wide: WebP. Previews are made while a client asks for them.',
    }),
    textinfo: z.string().nullable(),
  })
  .meta({ id: 'WebUiProgress' });

const shared = { tags: ['a1111'], security: BEARER_OR_BASIC };

const progressRoute = createRoute({
  ...shared,
  method: 'get',
  path: '/sdapi/v1/progress',
  operationId: 'webUiProgress',
  summary: 'How far the oldest unfinished call of this key is',
  middleware: requires('read'),
  request: {
    query: z.object({
      skip_current_image: z.string().max(5).optional().meta({ description: '`true`: without a preview.' }),
    }),
  },
  responses: {
    200: { description: 'The progress.', content: { 'application/json': { schema: ProgressSchema } } },
    ...plainErrors(),
  },
});

const NothingSchema = z.strictObject({});

const endRoute = (name: 'interrupt' | 'skip', operationId: string) =>
  createRoute({
    ...shared,
    method: 'post',
    path: `/sdapi/v1/${name}`,
    operationId,
    summary: 'Cancel the oldest unfinished call of this key',
    description:
      'Its job is cancelled, and the call is answered with 409: the pictures of a call are drawn together, so none of them is finished. Takes no body.',
    middleware: requires('cancel'),
    responses: {
      200: {
        description: 'Done, also when there was none.',
        content: { 'application/json': { schema: NothingSchema } },
      },
      ...plainErrors(),
    },
  });

const PRIVATE = { 'cache-control': 'private, no-cache' };

export function webUiProgressRoutes(app: Api, parts: ApiParts): void {
  const { redis, keys, clock } = parts;
  app.openapi(progressRoute, async (c) => {
    const calls = await openCalls(parts, c.var.caller.keyId);
    const { oldest } = calls;
    const wantsPreview = !/^(?:true|1|yes|on)$/i.test(c.req.valid('query').skip_current_image ?? '');
    if (oldest) await followJob(redis, keys, oldest.id, wantsPreview);
    const preview = oldest && wantsPreview ? await readPreview(redis, keys, oldest.id) : undefined;
    return answerJson(
      c,
      { ...progressOf(calls, clock.now()), current_image: preview?.data ?? null, textinfo: null },
      200,
      PRIVATE,
    );
  });
  for (const route of [endRoute('interrupt', 'webUiInterrupt'), endRoute('skip', 'webUiSkip')]) {
    app.openapi(route, async (c) => {
      const { oldest } = await openCalls(parts, c.var.caller.keyId);
      if (oldest) await cancelJob(parts, oldest);
      return answerJson(c, {}, 200, PRIVATE);
    });
  }
}

function progressOf({ count, oldest }: OpenCalls, now: number) {
  const running = oldest?.state === 'running' ? oldest : undefined;
  const { fraction = 0, step = 0, steps = 0 } = running?.progress ?? {};
  const elapsedS = running ? (now - running.started_at) / 1000 : 0;
  return {
    progress: fraction,
    eta_relative: fraction > 0 ? elapsedS / fraction - elapsedS : 0,
    state: {
      job: oldest?.id ?? '',
      job_count: count,
      job_no: 0,
      job_timestamp: oldest ? timestampOf(oldest.created_at) : '0',
      sampling_step: step,
      sampling_steps: steps,
      skipped: false,
      interrupted: isCanceling(oldest),
      stopping_generation: false,
    },
  };
}

const isCanceling = (record: JobOutline | undefined): boolean =>
  record !== undefined && 'cancel_requested' in record && record.cancel_requested !== undefined;

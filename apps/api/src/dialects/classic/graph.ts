/** POST /graph, the endpoint of the classic inference platform: a recording in, the bytes of the picture that its words ask for out. */
import { type RouteConfig, z } from '@hono/zod-openapi';
import { type JobId, LehrError, SpeechToImageRequestSchema } from '@lehr/shared';
import { refusal } from '../../base/field-problems.ts';
import { referenceTo } from '../../http/bodies/inline-audio.ts';
import { authenticate, guardQuota, requires } from '../../http/middleware/auth.ts';
import { countRefusals } from '../../http/middleware/observe.ts';
import { BEARER } from '../../http/responses.ts';
import { IDEMPOTENCY_HEADER, idempotencyKeyOf } from '../../jobs/requests/call-headers.ts';
import { atTheTop, nativeRequest } from '../../jobs/requests/field-names.ts';
import { holdUntilDone } from '../../jobs/requests/hold.ts';
import { makeJob } from '../../jobs/requests/make-job.ts';
import type { Api, ApiParts } from '../../parts.ts';
import { receiveUpload, uploadFields } from '../uploads.ts';
import { answerPicture, PICTURE_FIELDS, PICTURE_NAMES, pictureInput, pictureResponses } from './draw.ts';

const PATH = '/graph';
const { language, task } = SpeechToImageRequestSchema.shape;
const FieldsSchema = z.object({ ...PICTURE_FIELDS, language, task });

const NAMES = atTheTop({ ...PICTURE_NAMES, '/input/audio': '/file' });

const file = z.string().meta({
  format: 'binary',
  description: 'The recording, in any format of POST /v1/audio/transcriptions. The part may have any name.',
});

const route: RouteConfig = {
  method: 'post',
  path: PATH,
  operationId: 'drawRecording',
  tags: ['classic'],
  summary: 'Draw what a recording says and get the bytes of the picture',
  description:
    'Makes a speech-to-image job of the default models and holds the request until it is finished. Parts that are empty or unknown are ' +
    'ignored. When the hold ends first, the answer is 504 and the job continues; the same request again waits for the same job.',
  security: BEARER,
  request: {
    headers: z.object(IDEMPOTENCY_HEADER),
    body: {
      required: true,
      content: { 'multipart/form-data': { schema: z.object({ file, ...FieldsSchema.shape }) } },
    },
  },
  responses: pictureResponses('too-slow'),
};

export function graphRoute(app: Api, parts: ApiParts): void {
  // Not app.openapi: its validator would read the whole body before its size can be checked.
  app.openAPIRegistry.registerPath(route);
  app.use(PATH, authenticate(parts));
  app.on('POST', PATH, countRefusals(parts.metrics), requires('submit'), guardQuota(parts.quotas));
  app.post(PATH, async (c) => {
    const idempotencyKey = idempotencyKeyOf(c.req.header('idempotency-key'));
    // The job is made while the upload has its slot, which bounds the bytes in memory.
    const made = await receiveUpload(c, parts.files, async (body) => {
      const [recording, ...others] = body.files;
      if (!recording || others.length > 0) {
        const detail = recording ? `must be one recording; ${body.files.length} were sent` : 'is required';
        throw refusal('invalid-input', [{ pointer: '/file', detail }]);
      }
      const fields = uploadFields(FieldsSchema, body);
      const { language, task } = fields;
      const audio = referenceTo(0, recording.bytes);
      const input = { audio, language, task, ...pictureInput(fields) };
      c.set('inlineAudio', [recording]);
      return makeJob(c, parts, {
        route: `POST ${PATH}`,
        // The reference has the digest of the recording.
        body: { ...fields, audio },
        request: nativeRequest({ type: 'speech-to-image', input }, NAMES),
        names: NAMES,
        idempotencyKey,
        isHeld: true,
        cancelIfAbandoned: true,
      });
    });
    const record = await holdUntilDone(c, parts, made, parts.holdMs).catch((error: unknown) =>
      throwOfNode(parts, made.record.id, error),
    );
    return answerPicture(c, parts, record, made.headers);
  });
}

/** A workflow says only that a node failed. The error of the node says whether the recording was at fault. */
async function throwOfNode({ records, presenter }: ApiParts, id: JobId, error: unknown): Promise<never> {
  const record = error instanceof LehrError && error.code === 'node-failed' && (await records.read(id));
  const failed = record && (await presenter.job(record)).nodes?.find((node) => node.error)?.error;
  throw failed ? new LehrError(failed.code, `The job failed: ${failed.detail}`, { cause: error }) : error;
}

/**
 * POST /v1/audio/transcriptions and /v1/audio/translations: make a speech-to-text job. The upload is stored as a file of the
 * caller and deleted when the call is answered.
 */
import { type RouteConfig, z } from '@hono/zod-openapi';
import {
  formatTranscript,
  type JobEvent,
  type JobRequest,
  LehrError,
  type Transcript,
  TranscriptSchema,
} from '@lehr/shared';
import type { Context } from 'hono';
import { eventStream, SSE_HEADERS } from '../../follow/sse.ts';
import { enterStream, holderOf, orLeave, type StreamPlace } from '../../follow/streams.ts';
import type { ApiEnv } from '../../http/middleware/api-env.ts';
import { guardQuota, requires } from '../../http/middleware/auth.ts';
import { countRefusals } from '../../http/middleware/observe.ts';
import { BEARER } from '../../http/responses.ts';
import type { StoredFile } from '../../jobs/files/files.ts';
import { atTheTop, type Names, nativeRequest } from '../../jobs/requests/field-names.ts';
import { holdUntilDone, type SucceededRecord } from '../../jobs/requests/hold.ts';
import { type MadeJob, makeJob } from '../../jobs/requests/make-job.ts';
import type { Api, ApiParts, FollowParts, JobParts } from '../../parts.ts';
import { receiveUpload } from '../uploads.ts';
import {
  type AudioFields,
  audioFields,
  audioFile,
  type TranscriptEvent,
  TranscriptEventSchema,
  TranscriptionFieldsSchema,
  TranscriptionSchema,
  TranslationFieldsSchema,
} from './audio-contract.ts';
import { type CallEventMapper, callEvents } from './call-events.ts';
import { CALL_HEADERS, type CallHeaders, callHeadersOf, holdMsOf, repeatOf } from './call-headers.ts';
import { callErrors } from './errors.ts';

interface AudioCall {
  readonly path: string;
  readonly operationId: string;
  readonly summary: string;
  readonly task: 'transcribe' | 'translate';
  readonly fields: typeof TranscriptionFieldsSchema | typeof TranslationFieldsSchema;
}

const CALLS: readonly AudioCall[] = [
  {
    path: '/v1/audio/transcriptions',
    operationId: 'createTranscription',
    summary: 'Transcribe audio, for OpenAI clients',
    task: 'transcribe',
    fields: TranscriptionFieldsSchema,
  },
  {
    path: '/v1/audio/translations',
    operationId: 'createTranslation',
    summary: 'Translate audio into English text, for OpenAI clients',
    task: 'translate',
    fields: TranslationFieldsSchema,
  },
];

const DESCRIPTION =
  'Makes a speech-to-text job and holds the call until the text is complete, or streams it with `stream`. The audio format is ' +
  'detected from the bytes; unknown parts are ignored. When the hold ends first, the answer is 504 and the job continues; the ' +
  'same call again waits for the same job.';

export const AUDIO_NAMES: Names = atTheTop({
  '/input/audio': '/file',
  '/input/timestamps': '/timestamp_granularities[]',
});

export function audioRoutes(app: Api, parts: ApiParts): void {
  for (const call of CALLS) {
    // Not app.openapi: its validator would read the whole body before its size can be checked.
    app.openAPIRegistry.registerPath(routeOf(call));
    app.on('POST', call.path, countRefusals(parts.metrics), requires('submit'), guardQuota(parts.quotas));
    app.post(call.path, (c) => answerCall(c, parts, call));
  }
}

function routeOf({ path, operationId, summary, fields }: AudioCall): RouteConfig {
  const file = z.string().meta({
    format: 'binary',
    description: 'flac, mp3, mp4, mpeg, mpga, m4a, ogg, wav or webm.',
  });
  const schema = z.object({ file, ...fields.shape });
  const text = { schema: z.string() };
  return {
    method: 'post',
    path,
    operationId,
    tags: ['openai'],
    summary,
    description: DESCRIPTION,
    security: BEARER,
    request: {
      headers: CALL_HEADERS,
      body: { required: true, content: { 'multipart/form-data': { schema } } },
    },
    responses: {
      200: {
        description:
          'The transcript, in the requested format. The schema of events is that of the `data` of each, which is JSON.',
        content: {
          'application/json': { schema: TranscriptionSchema },
          'text/plain': text,
          'application/x-subrip': text,
          'text/vtt': text,
          'text/event-stream': { schema: TranscriptEventSchema },
        },
      },
      ...callErrors(),
    },
  };
}

async function answerCall(c: Context<ApiEnv>, parts: ApiParts, call: AudioCall): Promise<Response> {
  const headers = callHeadersOf(c);
  const { fields, file, place } = await receive(c, parts, call);
  const made = await orLeave(place, makeAudioJob(c, parts, call, { fields, file, headers }));
  if (place) {
    const mapper = transcriptEventMapper(async (record) => (await transcriptOf(parts, record)).text);
    const stream = eventStream((disconnected) => callEvents(parts, made, mapper, disconnected), place);
    return c.body(stream, 200, { ...made.headers, ...SSE_HEADERS });
  }
  const record = await holdUntilDone(c, parts, made, holdMsOf(parts, headers));
  const { contentType, body } = formatTranscript(await transcriptOf(parts, record), fields.response_format);
  return c.body(body, 200, { ...made.headers, 'content-type': contentType });
}

interface Received {
  readonly fields: AudioFields;
  readonly file: StoredFile;
  /** Of a streamed call. */
  readonly place?: StreamPlace | undefined;
}

/** Reads the whole body, checks it, and stores its file. */
const receive = (
  c: Context<ApiEnv>,
  { files, streams }: JobParts & FollowParts,
  call: AudioCall,
): Promise<Received> =>
  receiveUpload(c, files, async (body) => {
    const { filename: name, contentType, bytes } = audioFile(body);
    const fields = audioFields(call.fields, body);
    // Counted before the job is made, whose id a refused caller would not learn.
    const place =
      fields.stream === 'true'
        ? enterStream(c.req.raw, streams, holderOf(c.var.caller, 'submit'))
        : undefined;
    const creating = files.create(c.var.caller, { name, contentType, bytes });
    return { fields, place, file: await orLeave(place, creating) };
  });

/** The job reads the stored file. The file is deleted after the answer, or at once if an earlier call made the job. */
async function makeAudioJob(
  c: Context<ApiEnv>,
  parts: ApiParts,
  { path, task }: AudioCall,
  { fields, file, headers }: Received & { headers: CallHeaders },
): Promise<MadeJob> {
  const deleteFile = () =>
    parts.files
      .delete(c.var.caller.tenant, file)
      .catch((error) => parts.log.warn({ error, file: file.id }, 'could not delete an upload'));
  try {
    const made = await makeJob(c, parts, {
      route: `POST ${path}`,
      body: { ...fields, file: file.sha256 },
      request: transcriptJobOf(fields, file.id, task),
      names: AUDIO_NAMES,
      cancelIfAbandoned: true,
      ...repeatOf(headers),
    });
    if (!made.isNew) {
      await deleteFile();
      return made;
    }
    const markAnswered = async (): Promise<void> => {
      await made.markAnswered();
      await deleteFile();
    };
    return { ...made, markAnswered };
  } catch (error) {
    await deleteFile();
    throw error;
  }
}

/** Throws `invalid-input` with the names of the call. */
export function transcriptJobOf(
  fields: Omit<AudioFields, 'stream'>,
  audio: string,
  task: AudioCall['task'],
): JobRequest {
  const { model, language, prompt, temperature, timestamp_granularities } = fields;
  const timestamps = timestamp_granularities.includes('word') ? ('word' as const) : ('segment' as const);
  const input = { audio, task, language, prompt, temperature, timestamps };
  return nativeRequest({ type: 'speech-to-text', model, input }, AUDIO_NAMES);
}

/** Throws `gone` for a long transcript whose stored segments have been deleted. */
export async function transcriptOf(
  { presenter }: Pick<JobParts, 'presenter'>,
  record: SucceededRecord,
): Promise<Transcript> {
  const { output } = await presenter.job(record);
  const parsed = TranscriptSchema.safeParse(output);
  if (parsed.success) return parsed.data;
  throw new LehrError('gone', 'The transcript has been deleted.', { cause: parsed.error });
}

/**
 * The events of a streamed transcription: each piece of text when it is final, then the whole text.
 * `textOf` reads the whole text of a succeeded job.
 */
function transcriptEventMapper(textOf: (record: SucceededRecord) => Promise<string>): CallEventMapper {
  let sentText = '';
  /** A new attempt produces the text from the start again: what was sent is not repeated. */
  const delta = (text: string, offset: number): TranscriptEvent | undefined => {
    const more = text.slice(Math.max(0, sentText.length - offset));
    sentText += more;
    return more === '' ? undefined : { type: 'transcript.text.delta', delta: more };
  };
  return {
    previews: false,
    during: (event: JobEvent) =>
      event.type === 'job.output' ? delta(event.data.text, event.data.offset) : undefined,
    after: async function* (record): AsyncGenerator<TranscriptEvent> {
      const text = await textOf(record);
      const rest = delta(text, 0);
      if (rest) yield rest;
      yield { type: 'transcript.text.done', text };
    },
  };
}

/** Lines of batches as OpenAI's clients write them, and their answers: the bodies of the calls with the same paths. */
import { formatTranscript, type JobRequest } from '@lehr/shared';
import { z } from 'zod';
import { refusal } from '../../base/field-problems.ts';
import { type BatchEndpoint, type BatchEndpoints, jobEndpoint } from '../../batches/endpoints.ts';
import { bodyRefusal } from '../../http/middleware/validation.ts';
import type { Names } from '../../jobs/requests/field-names.ts';
import type { SucceededRecord } from '../../jobs/requests/hold.ts';
import { readLargeResult, textResultOf } from '../../jobs/text-result.ts';
import type { JobParts, PlaceParts } from '../../parts.ts';
import { shapedAnswer } from '../text-shape.ts';
import { nullsAsAbsent } from '../without-nulls.ts';
import { AUDIO_NAMES, transcriptJobOf, transcriptOf } from './audio.ts';
import { transcriptionLine } from './audio-contract.ts';
import { EmbeddingRequestSchema } from './embedding-contract.ts';
import { EMBEDDING_NAMES, embeddingJobOf, embeddingsShape } from './embeddings.ts';
import { openaiRefusal } from './errors.ts';
import { imagesOf } from './image-answers.ts';
import { type ImageRequest, ImageRequestSchema } from './image-contract.ts';
import { IMAGE_NAMES, imageJobOf } from './images.ts';

type Parts = Pick<JobParts & PlaceParts, 'presenter' | 'store' | 'largeAnswers'>;

export const batchEndpoints = (parts: Parts): BatchEndpoints => ({
  '/v1/jobs': jobEndpoint(parts.presenter),
  '/v1/images/generations': endpoint(IMAGE_NAMES, imageLine, imageJobOf, (record, line) =>
    images(parts, record, line),
  ),
  '/v1/images/edits': endpoint(IMAGE_NAMES, editLine, imageJobOf, (record, line) =>
    images(parts, record, line),
  ),
  '/v1/audio/transcriptions': endpoint(
    AUDIO_NAMES,
    transcriptionLine,
    (line) => transcriptJobOf(line, line.file, 'transcribe'),
    async (record, { response_format }) => {
      const { contentType, body } = formatTranscript(await transcriptOf(parts, record), response_format);
      return contentType === 'application/json' ? body : JSON.stringify(body);
    },
  ),
  '/v1/embeddings': endpoint(
    EMBEDDING_NAMES,
    (body) => parsed(EmbeddingRequestSchema, body),
    embeddingJobOf,
    async (record, line) => {
      const shape = embeddingsShape(line, record);
      const result = await textResultOf(parts.store, record);
      if ('small' in result) return JSON.stringify(shapedAnswer(result.small, shape));
      const { large } = result;
      const json = await parts.largeAnswers.write(record.tenant, {
        read: () => readLargeResult(parts.store, large),
        // One answer of a file is in memory at a time: nothing waits unsent.
        signal: new AbortController().signal,
        onClosed: (release) => release(),
        tokens: large.tokens,
        shape,
      });
      return new TextDecoder().decode(json);
    },
  ),
});

/** `lineOf` throws `invalid-input`. */
const endpoint = <Line>(
  names: Names,
  lineOf: (body: unknown) => Line,
  jobOf: (line: Line) => JobRequest,
  answer: (record: SucceededRecord, line: Line) => Promise<string>,
): BatchEndpoint => ({
  requestOf: (body) => jobOf(lineOf(body)),
  answerOf: (record, body) => answer(record, lineOf(body)),
  errorOf: openaiRefusal,
  names,
});

function parsed<Schema extends z.ZodType>(schema: Schema, body: unknown): z.output<Schema> {
  const { success, data, error } = schema.safeParse(body);
  if (success) return data;
  throw bodyRefusal(error);
}

/** A picture as the JSON of images.edit names it. */
const PictureSchema = z.union(
  [
    z.string(),
    z.object({ image_url: z.string() }).transform(({ image_url }) => image_url),
    z.object({ file_id: z.string() }).transform(({ file_id }) => file_id),
  ],
  { error: 'must have image_url or file_id' },
);

const EditLineSchema = nullsAsAbsent({
  image: PictureSchema.optional(),
  images: z.array(PictureSchema).length(1).optional(),
  mask: PictureSchema.optional(),
});

function imageLine(body: unknown): ImageRequest {
  const line = parsed(ImageRequestSchema, body);
  if (line.stream)
    throw refusal('invalid-input', [{ pointer: '/stream', detail: 'must be false in a batch' }]);
  return line;
}

function editLine(body: unknown): ImageRequest {
  const { images: all = [], mask, ...line } = parsed(EditLineSchema, body);
  const image = line.image ?? all[0];
  if (image === undefined) throw refusal('invalid-input', [{ pointer: '/images', detail: 'is required' }]);
  return imageLine({ ...Object(body), image, mask });
}

const images = async (parts: Parts, record: SucceededRecord, line: ImageRequest): Promise<string> =>
  JSON.stringify(await imagesOf(parts, record, line.response_format));
